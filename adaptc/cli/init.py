"""``adaptc init``: writes an ``adaptc.toml`` with every key, its default and a comment."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.render import print_json, print_text
from adaptc.core.diagnostics import UsageError

# Where generators put a site; the first that holds a page is taken.
_USUAL_DOCROOTS = ("public", "_site", "dist", "site", "htdocs", "www", "html", "build", "output")


# For a crowd: all levels down to text, and everything by which daemons can choose among them
_CROWD = ("full", "lossless", "moderate", "extreme", "text")
PROFILES: dict[str, dict[str, Any]] = {
    "crowd": {
        "build.levels": _CROWD,
        "serve.flag": True,
        "serve.level": "extreme",
        "serve.ladder": _CROWD,
        "serve.buckets": True,
        "serve.reject": True,
        "serve.status": "127.0.0.1:8901",
    }
}


@command("init")
@click.option("--docroot", metavar="DIR", help="The site; by default the first of the usual folders with a page.")
@click.option("--output", metavar="DIR", default="opt", show_default=True, help="Where builds go.")
@click.option("--profile", type=click.Choice([*PROFILES]), help="Settings for a purpose; crowd: for the worst day.")
def init(invocation: Invocation, docroot: str | None, output: str, profile: str | None) -> None:
    """Write a commented adaptc.toml.

    It is written to the working directory, or where --config says. An existing file is never overwritten.
    """
    path = invocation.config or Path("adaptc.toml")
    site = docroot or usual_docroot(path.parent)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(profiled(starting_text(site, output), _settings(profile, path.parent / site if site else None)))
    except FileExistsError as error:
        raise UsageError(f"{path} exists already; it is left as it is") from error
    except FileNotFoundError as error:
        raise UsageError(f"{path.parent} is not a directory") from error
    if invocation.format == "json":
        print_json({"file": str(path), "docroot": site, "output": output})
    else:
        print_text(f"wrote {path}; next: adaptc build" + ("" if site else " DOCROOT"), invocation)


def _settings(profile: str | None, docroot: Path | None) -> dict[str, Any]:
    """Return the settings of a profile; for a site that a framework rendered its ladder has ``unhydrated``, too."""
    from adaptc.config.config import Config
    from adaptc.site.published import find_app

    settings = PROFILES[profile] if profile else {}
    app = find_app(docroot, Config().site.index) if docroot is not None and settings else None
    if app is None or not app.is_rendered:
        return settings
    place = _CROWD.index("moderate") + 1
    levels = (*_CROWD[:place], "unhydrated", *_CROWD[place:])
    return {key: levels if value == _CROWD else value for key, value in settings.items()}


def usual_docroot(base: Path) -> str | None:
    """Return the first of the usual folders below ``base`` that holds an index page, or None."""
    return next((name for name in _USUAL_DOCROOTS if (base / name / "index.html").is_file()), None)


def starting_text(docroot: str | None, output: str) -> str:
    """Return the text of an ``adaptc.toml`` whose comments explain every key."""
    from adaptc.config.config import Config
    from adaptc.core.sandbox import sandboxed

    source = resources.files("adaptc.templates").joinpath("adaptc.toml.j2").read_text("utf-8")
    environment = sandboxed(keep_trailing_newline=True, autoescape=False)
    environment.filters["toml"] = toml_value
    return environment.from_string(source).render(docroot=docroot, output=output, default=Config())


def profiled(text: str, settings: dict[str, Any]) -> str:
    """Return a starting text in which some keys, ``TABLE.KEY``, have a value instead of a comment with the default."""
    table, lines = "", []
    for line in text.split("\n"):
        if match := re.match(r"\[(\w+)\]", line):
            table = match[1]
        key = re.match(r"# (\w+) = ", line)
        name = f"{table}.{key[1]}" if key else ""
        comment = re.search(r"    # .*$", line)
        is_set = name in settings
        lines.append(
            f"{key[1]} = {toml_value(settings[name])}{comment[0] if comment else ''}" if key and is_set else line
        )
    return "\n".join(lines)


def toml_value(value: Any) -> str:
    """Return a setting as TOML: texts in basic strings, tuples as arrays."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:_}" if isinstance(value, int) and value >= 100_000 else repr(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return f'"{"".join(map(_escaped, str(value)))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\u{ord(character):04x}"
