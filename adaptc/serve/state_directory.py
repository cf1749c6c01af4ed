"""The state directory: the files by which levels and classes change while the server runs.

    opt.do                  the mode switch: adaptation is on while it exists
    buckets.txt             for Apache: a bucket, 00 to ff, and its level on each line
    m/BUCKET.LEVEL          for nginx: the same as empty files; a bucket without one has the level of the configuration
    classes.txt             for Apache: a key and its class on each line (``class_map``)
    classes.dbm             the same as a hash file, made by httxt2dbm
    classes.geo             for nginx with nginx_classes = "geo": a network and its class on each line
    c/CLASS/KEY             for nginx otherwise: the same keys as empty files

A file is replaced by one rename. Markers are two files for a moment: the new one is created before the old one is
removed.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adaptc.core.fs import remove, write_atomic
from adaptc.core.values import asdict, dataclass, fields
from adaptc.serve.policy import CLASSES, CONF_DIRECTORY

BUCKETS = tuple(f"{number:02x}" for number in range(256))
READABLE, _SEARCHABLE = 0o644, 0o755  # servers read these files, whatever the umask of the writer
HTXT2DBM = "httxt2dbm"
HTXT2DBM_SECONDS = 20  # it takes one for a million clients; the watchdog of the classifier waits for 60
SYSTEM_PROGRAMS = os.pathsep.join(("/usr/sbin", "/usr/local/sbin"))  # where distributions have httxt2dbm
NARROWER = "+"  # the class of a wide network that contains narrower ones
OWN = "="  # the end of the key that then has the wide network's own class
# How the rules cut the wide network out of an address (templates/apache.conf.j2)
_WIDE = re.compile(r"\d+\.\d+(?=\.|$)|(?:[0-9a-f]+:){0,2}(?::|[0-9a-f]+:)")


# ---- what the emitted configuration obeys

KNOBS = f"{CONF_DIRECTORY}/knobs.json"  # in the output


@dataclass(frozen=True, slots=True)
class Knobs:
    """What daemons can set in the emitted configuration, written next to it: flag, buckets, level ``0``, classes.

    ``level`` is served while the flag is set and nothing else is said, ``levels`` are all trees, and ``ladder`` those
    between which daemons choose; ``same`` those that promise the same page. ``state`` is the state directory that the
    servers read, ``status`` the URL of the status page that was emitted, if any. With ``exposes`` answers say what they
    are (``X-Adapt``), and with ``is_paced`` pages beyond a rate have the last level of the ladder.
    """

    servers: tuple[str, ...]
    name: str
    prefix: str
    flag: bool
    buckets: bool
    reject: bool
    classes: bool
    classes_need_flag: bool
    exposes: bool
    level: str
    levels: tuple[str, ...]
    ladder: tuple[str, ...]
    same: tuple[str, ...]
    state: str
    status: str = ""
    is_paced: bool = False

    @property
    def reachable(self) -> tuple[str, ...]:
        """The levels that a daemon can choose."""
        return self.ladder if self.buckets else (self.level,)

    def json(self) -> bytes:
        """Return the knobs as a document."""
        return json.dumps(asdict(self), indent=1).encode("ascii") + b"\n"


def read_knobs(output: Path) -> Knobs | None:
    """Return the knobs of the configuration that was emitted for an output; None where there is no sound record."""
    try:
        record = json.loads((output / KNOBS).read_bytes())
        values: dict[str, Any] = {field.name: record[field.name] for field in fields(Knobs) if field.name in record}
        known: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return Knobs(**known)
    except (OSError, ValueError, TypeError):
        return None


def create(state: Path, level: str, class_map: str) -> None:
    """Create the files that a server's configuration refers to, as far as they are missing.

    ``level`` is that of each bucket, ``class_map`` ``"dbm"`` or ``"txt"``. Raises ``OSError``, and
    ``FileNotFoundError`` for ``httxt2dbm``.
    """
    for directory in ("m", *(f"c/{name}" for name in CLASSES)):
        make_folder(state, directory)
    if not (state / "buckets.txt").exists():
        write_buckets(state, dict.fromkeys(BUCKETS, level), level)
    for name in ("classes.txt", "classes.geo"):
        if not (state / name).exists():
            write(state / name, b"")
    if class_map == "dbm" and not (state / "classes.dbm").exists():
        make_dbm(state / "classes.txt", state / "classes.dbm")


# ---- buckets


def write_buckets(state: Path, levels: Mapping[str, str], start: str | None = None) -> None:
    """Give each bucket its level. ``start`` is the level of the configuration, which needs no marker."""
    lines = "".join(f"{bucket} {level}\n" for bucket, level in sorted(levels.items()))
    write(state / "buckets.txt", lines.encode("ascii"))
    write_markers({state / "m": {f"{bucket}.{level}" for bucket, level in levels.items() if level != start}})


def write_markers(directories: Mapping[Path, set[str]]) -> None:
    """Make each directory contain exactly these empty files; new ones are created before old ones are removed."""
    present = {directory: set(os.listdir(directory)) for directory in directories}
    for directory, wanted in directories.items():
        for name in sorted(wanted - present[directory]):
            (directory / name).touch(READABLE)
    for directory, wanted in directories.items():
        for name in sorted(present[directory] - wanted):
            remove(os.fspath(directory / name))


def write(path: Path, content: bytes, *, keep_equal: bool = True) -> None:
    """Write a file that servers can read, by rename. Raises ``OSError``."""
    write_atomic(os.fspath(path), content, READABLE, keep_equal=keep_equal, is_exact=True)


def make_folder(state: Path, name: str) -> Path:
    """Return a folder ``name`` below the state directory, which servers can search; it is made if need be."""
    folder = state
    for part in ("", *name.split("/")):
        folder /= part
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(_SEARCHABLE)
    return folder


# ---- classes


def class_map(classes: Mapping[str, str]) -> bytes:
    """Return ``classes.txt`` for classes by key: an address, or the text of a network as servers cut it out of one."""
    return "".join(f"{key} {name}\n" for key, name in sorted(indexed(classes).items())).encode("ascii")


def indexed(classes: Mapping[str, str]) -> dict[str, str]:
    """Return ``classes`` with an index, by which most look-ups need one test.

    The class of a client may have the key of its address (10.1.2.3), its network (10.1.2, 2001:db8:1:2:) or its wide
    network (10.1, 2001:db8:1:). Each look-up in a RewriteMap costs a test of the file's time; for an unknown address
    three of them were 1.6 of 10 us. So the wide network is looked up first, and its class is ``NARROWER`` if there are
    more keys below it.
    """
    result = dict(classes)
    for key in classes:
        wide = _wide(key)
        if wide != key and result.get(wide) != NARROWER:
            if wide in result:
                result[wide + OWN] = result[wide]
            result[wide] = NARROWER
    return result


def _wide(key: str) -> str:
    match = _WIDE.match(key)
    return match[0] if match else key


# ---- hash files


def dbm_program() -> str | None:
    """Return the program of Apache that makes hash files, None where it is not installed."""
    return shutil.which(HTXT2DBM) or shutil.which(HTXT2DBM, path=SYSTEM_PROGRAMS)


def make_dbm(text: Path, target: Path) -> None:
    """Make the hash file of a text map with Apache's own program, so that Apache can read it.

    Raises ``FileNotFoundError`` when ``httxt2dbm`` is not installed, ``CalledProcessError`` when it fails, and
    ``TimeoutError`` when it hangs.
    """
    program = dbm_program()
    if program is None:
        raise FileNotFoundError(2, "not found; it is in Debian's package apache2-utils", HTXT2DBM)
    temporary = target.with_name(f".adaptc-{os.getpid()}-{target.name}")
    temporary.unlink(missing_ok=True)  # httxt2dbm would add to it
    try:
        subprocess.run(
            [program, "-i", text, "-o", temporary], check=True, capture_output=True, timeout=HTXT2DBM_SECONDS
        )
        temporary.chmod(READABLE)
        temporary.replace(target)
    except subprocess.TimeoutExpired:
        raise TimeoutError(errno.ETIMEDOUT, f"did not end in {HTXT2DBM_SECONDS} seconds", HTXT2DBM) from None
    finally:
        temporary.unlink(missing_ok=True)
