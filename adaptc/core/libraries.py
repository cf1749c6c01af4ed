"""The versions of installed libraries: what another version made may be other bytes.

A build with nothing to do asks for all of them. ``importlib.metadata`` takes 12 ms to import, and 1 ms for each: it
parses all that a distribution says of itself. The names of its directories, ``NAME-VERSION.dist-info``, say the same
(Python Packaging User Guide, "Recording installed projects"), of all in 1 ms; it is asked for others only.

A version is that of the distribution. That of libvips is the one of pyvips-binary; those of libwebp, libavif and
libjpeg-turbo follow from the one of Pillow, unless that was built anew with others on this machine.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache

PYTHON = "Python"
"""Python itself among libraries: characters, regular expressions and zlib are its own. Its version is ``3.11``."""

NOT_INSTALLED = "none"

# The distributions of packages that have other names
_DISTRIBUTIONS = {
    "PIL": ("Pillow",),
    "brotli": ("Brotli",),
    "fontTools": ("fonttools",),
    "mozjpeg_lossless_optimization": ("mozjpeg-lossless-optimization",),
    "oxipng": ("oxipng-pybind",),
    "pyvips": ("pyvips", "pyvips-binary"),
    "upa_url": ("upa-url",),
}


def distributions_of(package: str) -> tuple[str, ...]:
    """Return the names of the distributions that a package is imported from."""
    return _DISTRIBUTIONS.get(package, (package,))


def versions_of(names: Iterable[str]) -> dict[str, str]:
    """Return the installed versions of distributions and ``PYTHON``, sorted by name."""
    return {name: version_of(name) for name in sorted(names)}


def identify(names: Iterable[str]) -> str:
    """Return the installed versions as a text, for the keys of what was made with them."""
    return ", ".join(f"{name} {version}" for name, version in versions_of(names).items())


@cache
def version_of(name: str) -> str:
    """Return the installed version of a distribution, ``NOT_INSTALLED`` if there is none."""
    if name == PYTHON:
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    return _named_versions().get(_normal(name)) or _recorded_version(name)


@cache
def _named_versions() -> dict[str, str]:
    """Return the versions that names of directories tell, by normal name; the first on the path counts."""
    versions: dict[str, str] = {}
    for directory in sys.path:
        for name, version in _named_in(directory):
            versions.setdefault(_normal(name), version)
    return versions


def _named_in(directory: str) -> Iterator[tuple[str, str]]:
    try:
        entries = sorted(os.listdir(directory or "."))
    except OSError:  # it is missing, or an archive
        return
    for entry in entries:
        stem, extension = os.path.splitext(entry)
        if extension in (".dist-info", ".egg-info"):
            name, _, version = stem.partition("-")
            if version:
                yield name, version.partition("-")[0]


def _normal(name: str) -> str:
    """Return a name as directories have it, in lower case."""
    return re.sub(r"[-_.]+", "_", name).lower()


def _recorded_version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return NOT_INSTALLED
