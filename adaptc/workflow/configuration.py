"""The configuration of the whole program: ``adaptc.toml`` with the tables that each part reads checked in one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptc.config.config import Config
from adaptc.config.config_file import Part, read_config
from adaptc.config.schema import problems_of, read_table, refuse
from adaptc.config.toml import TomlSource, nearest, nearest_or_all

if TYPE_CHECKING:
    from adaptc.config.rulebook import Level


def load_config(
    path: Path | None = None, overrides: Mapping[str, Any] | None = None, *, repeats: bool = False
) -> Config:
    """Read ``path``, or ``adaptc.toml`` of the working directory if there is one, or return the defaults.

    ``overrides`` are settings by dotted key, as ``docs/configuration.md`` lists them (``{"build.effort": "max"}``).
    They win over the file, and None is ignored. Relative paths start from the directory of the file; those in
    ``overrides`` start from the working directory. With ``repeats``, settings that neither has are those that the
    options of the last build of the same docroot gave: docroot, levels, effort, cache, base URL. The costs of
    ``cost.profile`` win over all.

    Raises ``UsageError`` that names every mistake of all tables, one a line, with file and line.

    >>> import adaptc
    >>> adaptc.load_config(overrides={"output": "opt", "build.levels": ["full"]}).build.levels
    ('full',)
    """
    return _with_profile(read_config(path, overrides, _PARTS, repeats=repeats))


def _with_profile(config: Config) -> Config:
    """Return the configuration with the costs of ``cost.profile``. Raises ``UsageError`` when it cannot be read."""
    if config.cost.profile is None:
        return config
    from adaptc.serve.calibrate.profile import named_profile

    costs = next(iter(named_profile(config.cost.profile).costs.values()))
    view, request, kilobyte = (costs[key] for key in ("view_ms", "request_ms", "kilobyte_ms"))
    return replace(config, cost=replace(config.cost, view_ms=view, request_ms=request, kilobyte_ms=kilobyte))


def known_levels(config: Config) -> dict[str, Level]:
    """Return the levels that ship and those of ``[levels]``, by name. Raises ``UsageError``."""
    return _levels(config.levels) if config.levels.values else dict(_shipped_levels())


def _levels(overrides: TomlSource) -> dict[str, Level]:
    from adaptc.compile.pipeline import KNOWN_PASSES
    from adaptc.config.rulebook import load_levels

    return load_levels(overrides, KNOWN_PASSES)


@cache
def _shipped_levels() -> Mapping[str, Level]:
    return _levels(TomlSource())


def configured_levels(config: Config) -> tuple[Level, ...]:
    """Return the levels that ``config`` builds, those of the highest quality first. Raises ``UsageError``."""
    from adaptc.config.rulebook import choose_levels

    return choose_levels(config.build.levels, known_levels(config))


# ---- a site for hosts that only send files

# As ``--browser`` without a number
_LOOKED_AT = 3


def settings_for_hosts(given: Config, level: str | None, *, browser: bool | None) -> tuple[str, dict[str, Any]]:
    """Return the level that is published on hosts that only send files, and settings, where ``given`` has no others.

    By default it is the one that ``level_for_hosts`` names. Full is built, too, to compare with, and what the output or
    the file have already. A ``browser`` looks at pages, by default where there is one. Such hosts speak HTTP/2, and
    encode themselves, fast: of the codings one says what is sent.
    """
    from adaptc.browser import lacking
    from adaptc.config.config import CostConfig
    from adaptc.config.config_file import read_last_build
    from adaptc.site.published import level_for_hosts

    if level is None:
        level = level_for_hosts(given.docroot, given.site.index) if given.docroot is not None else "web"
    is_known = given.build.levels != Config().build.levels or read_last_build(given.output) is not None
    levels = list(dict.fromkeys(["full", level, *(given.build.levels if is_known else ())]))
    wanted = browser or (browser is None and not lacking(given.browser.program))
    pages = 0 if browser is False else given.browser.pages or _LOOKED_AT * wanted
    chosen: dict[str, Any] = {"build.levels": levels, "browser.pages": pages}
    if given.cost == CostConfig():
        chosen["cost.preset"] = "static-host"
    if len(levels) == len({"full", level}):
        chosen |= {"codings.gz": False, "codings.zst": False, "codings.effort": "fast"}
    return level, chosen


# ---- tables that only some commands use: their modules are imported only if the table is in the file


def _check_levels(config: Config, file: TomlSource) -> None:
    levels = known_levels(config) if config.levels.values or config.build.levels != Config().build.levels else {}
    refuse(_unknown_levels(config.build.levels, levels, file) if levels else ())


def _unknown_levels(names: tuple[str, ...], levels: Mapping[str, Level], file: TomlSource) -> Iterator[str]:
    table = file.below("build")
    for name in names:
        if name not in levels:
            problem = f"there is no level {name}{nearest_or_all(name, levels)}"
            yield table.complaint(("levels",), problem) if name in table.values.get("levels", ()) else problem


def _check_budgets(config: Config, _file: TomlSource) -> None:
    if config.budgets.values:
        from adaptc.config.budgets import read_budgets

        is_mistaken = list(problems_of(partial(known_levels, config)))
        read_budgets(config.budgets, None if is_mistaken else known_levels(config))


def _check_daemons(config: Config, _file: TomlSource) -> None:
    if config.daemons.values:
        refuse(problem for name in config.daemons.values for problem in _daemon_problems(name, config.daemons))


def _daemon_problems(name: str, daemons: TomlSource) -> Iterator[str]:
    """Yield the mistakes in the table of a daemon.

    Rules between settings (``leave`` below ``enter``) are left to the daemon, whose ``--set`` may change either.
    """
    from adaptc.daemons.status import DAEMONS

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


_PARTS: tuple[Part, ...] = (_check_levels, _check_budgets, _check_daemons)
