"""What setup.cfg cannot say: the packages, found below adaptc/ and two at the top, and the manual pages."""

from pathlib import Path

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["adaptc", "adaptc.*"]), "adaptc.rules", "adaptc.templates"],
    data_files=[("share/man/man1", sorted(map(str, Path("docs/man").glob("*.1"))))],
)
