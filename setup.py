"""The list of packages, which setup.cfg cannot say: those below adaptc/ and two that stand at the top."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["adaptc", "adaptc.*"]), "adaptc.rules", "adaptc.templates"])
