"""The tables of ``[daemons]`` in adaptc.toml, each compared with the schema of its daemon."""

from __future__ import annotations

from collections.abc import Iterator

from adaptc.config.schema import problems_of, read_table, refuse
from adaptc.config.toml import TomlSource, nearest
from adaptc.daemons.status import DAEMONS


def check_daemons(daemons: TomlSource) -> None:
    """Raise ``UsageError`` that names every mistake of ``[daemons]``, one a line.

    Rules between settings (``leave`` below ``enter``) are left to the daemon, whose ``--set`` may change either.
    """
    refuse(problem for name in daemons.values for problem in _problems(name, daemons))


def _problems(name: str, daemons: TomlSource) -> Iterator[str]:
    if name not in DAEMONS:
        yield daemons.complaint((name,), f"unknown daemon {name}{nearest(name, DAEMONS)}")
    elif name == "control":
        from adaptc.daemons.control.settings import read_control

        yield from problems_of(lambda: read_control(daemons.below(name)))
    elif name == "classify":
        from adaptc.daemons.classify.settings import CHECKS

        yield from read_table(daemons.below(name), CHECKS).problems
    else:
        from adaptc.daemons.switch.settings import CHECKS

        yield from read_table(daemons.below(name), CHECKS).problems
