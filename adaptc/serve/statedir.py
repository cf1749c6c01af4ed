"""The state directory: the files by which levels and classes change while the server runs.

    opt.do                  the mode switch: adaptation is on while it exists
    buckets.txt             for Apache: a bucket, 00 to ff, and its level on each line
    m/BUCKET.LEVEL          for nginx: the same as empty files; a bucket without one has the level of the configuration
    classes.txt             for Apache: a key and its class on each line (classkeys.py)
    classes.dbm             the same as a hash file, made by httxt2dbm
    classes.geo             for nginx, when it says nginx_classes = "geo": a network and its class on each line
    c/CLASS/KEY             for nginx otherwise: the same keys as empty files

A file is replaced by one rename. Markers are two files for a moment: the new one comes before the old one goes.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from adaptc.core.fs import remove, write_atomic
from adaptc.serve.classkeys import indexed
from adaptc.serve.policy import CLASSES

BUCKETS = tuple(f"{number:02x}" for number in range(256))
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# The lengths that servers look for, shortest first, and the groups of the address in a key of that length.
LENGTHS = {4: {16: 2, 24: 3, 32: 4}, 6: {48: 3, 64: 4, 128: 8}}


def create(state: Path, level: str, class_map: str | None) -> None:
    """Make what a server's configuration refers to, if it is missing; nothing that is there is changed.

    ``level`` is that of each bucket; ``class_map`` is ``dbm``, ``txt`` or None where there are no classes. Raises
    ``OSError``, and ``FileNotFoundError`` for ``httxt2dbm``.
    """
    for directory in ("m", *(f"c/{name}" for name in CLASSES)):
        (state / directory).mkdir(mode=0o755, parents=True, exist_ok=True)
    if not (state / "buckets.txt").exists():
        write_buckets(state, dict.fromkeys(BUCKETS, level), level)
    if class_map and not (state / f"classes.{class_map}").exists():
        write_classes(state, {}, class_map)


def write_buckets(state: Path, levels: Mapping[str, str], start: str) -> None:
    """Give each bucket its level; ``start`` is the one that the configuration gives a bucket without a marker."""
    lines = "".join(f"{bucket} {level}\n" for bucket, level in sorted(levels.items()))
    _write(state / "buckets.txt", lines)
    wanted = {f"{bucket}.{level}" for bucket, level in levels.items() if level != start}
    _mark(state / "m", wanted)


def write_classes(state: Path, classes: Mapping[Network, str], class_map: str) -> None:
    """Give each network its class; an address that is in none is normal.

    Networks of other lengths than ``LENGTHS`` are split for all but ``classes.geo``, which knows all lengths. Raises
    ``ValueError`` for a class that is none.
    """
    unknown = set(classes.values()) - set(CLASSES)
    if unknown:
        raise ValueError(f"no class: {', '.join(sorted(unknown))}")
    ordered = sorted(classes.items(), key=lambda item: (item[0].version, item[0]))
    keys = {key: name for network, name in _by_length(ordered) for key in keys_of(network)}
    _write(state / "classes.txt", "".join(f"{key} {name}\n" for key, name in sorted(indexed(keys).items())))
    _write(state / "classes.geo", "".join(f"{network} {name};\n" for network, name in ordered))
    for name in CLASSES:
        _mark(state / "c" / name, {key for key, given in keys.items() if given == name})
    if class_map == "dbm":
        make_dbm(state / "classes.txt", state / "classes.dbm")


def _by_length(classes: Iterable[tuple[Network, str]]) -> Iterator[tuple[Network, str]]:
    """Yield networks of the lengths that servers look for, wider ones first, so that narrower ones win."""
    for network, name in sorted(classes, key=lambda item: item[0].prefixlen):
        length = next(one for one in LENGTHS[network.version] if one >= network.prefixlen)
        yield from ((part, name) for part in network.subnets(new_prefix=length))


def keys_of(network: Network) -> Iterator[str]:
    """Yield the texts that addresses of a network begin with, as servers cut them: ``10.1.2``, ``2001:db8:1:``.

    The text of an IPv6 address (RFC 5952) leaves a run of zeros out, so that a network with zero groups at its end has
    a key for either spelling: ``2001:db8:0:`` and ``2001:db8::``.
    """
    groups = LENGTHS[network.version][network.prefixlen]
    if network.prefixlen == network.max_prefixlen:
        yield str(network.network_address)
    elif network.version == 4:
        yield ".".join(str(network.network_address).split(".")[:groups])
    else:
        written = [f"{int(one, 16):x}" for one in network.network_address.exploded.split(":")[:groups]]
        yield "".join(f"{one}:" for one in written)
        if written[-1] == "0":
            while written and written[-1] == "0":
                written.pop()
            yield "".join(f"{one}:" for one in written) + ":"


def dbm_program() -> str | None:
    """Return the program of Apache that makes hash files; distributions keep it where only root looks."""
    return shutil.which("httxt2dbm") or shutil.which("httxt2dbm", path="/usr/sbin:/usr/local/sbin")


def make_dbm(text: Path, target: Path) -> None:
    """Make the hash file of a text map with Apache's own program, so that Apache can read it.

    Raises ``FileNotFoundError`` when ``httxt2dbm`` is not installed, ``CalledProcessError`` when it fails.
    """
    program = dbm_program()
    if program is None:
        raise FileNotFoundError(2, "not found; it is in Debian's package apache2-utils", "httxt2dbm")
    made = target.with_name(f".adaptc-{os.getpid()}-{target.name}")
    try:
        subprocess.run([program, "-i", text, "-o", made], check=True, capture_output=True)
        made.chmod(0o644)
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    write_atomic(os.fspath(path), text.encode("utf-8"), keep_equal=True)


def _mark(directory: Path, wanted: set[str]) -> None:
    """Make ``directory`` hold the empty files ``wanted`` and no other."""
    there = set(os.listdir(directory))
    for name in sorted(wanted - there):
        (directory / name).touch(0o644)
    for name in sorted(there - wanted):
        remove(os.fspath(directory / name))
