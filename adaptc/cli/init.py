"""``adaptc init``: writes an ``adaptc.toml`` with every key, its default and a comment."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.render import print_json, print_text
from adaptc.core.diagnostics import UsageError, printable

if TYPE_CHECKING:
    from adaptc.site.surroundings import Surroundings

USUAL_OUTPUT = "opt"
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
@click.option("--output", metavar="DIR", default=USUAL_OUTPUT, show_default=True, help="Where builds go.")
@click.option("--profile", type=click.Choice([*PROFILES]), help="Settings for a purpose; crowd: for the worst day.")
@click.option("--schema", is_flag=True, help="Print the JSON schema of adaptc.toml, for editors; write nothing.")
def init(invocation: Invocation, docroot: str | None, output: str, profile: str | None, schema: bool) -> None:
    """Write a commented adaptc.toml.

    It is written to the working directory, or where --config says. An existing file is never overwritten. What the
    files there say of generator, host and address is set in it, with the reason.
    """
    from adaptc.site.surroundings import usual_docroot

    if schema:
        from adaptc.config.json_schema import json_schema

        print_json(json_schema())
        return
    path = invocation.config or Path("adaptc.toml")
    site = docroot or usual_docroot(path.parent)
    found = list(_settings_found(path.parent, site))
    settings = {name: value for name, value, _ in found}
    settings |= _profile_settings(profile, path.parent / site if site else None)
    text = profiled(starting_text(site, output), settings)
    head = "".join(f"# {name} = {toml_value(value)}: {reason}\n" for name, value, reason in found)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(f"# Set below by what was found here:\n{head}\n{text}" if found else text)
    except FileExistsError as error:
        raise UsageError(f"{path} exists already; it is left as it is") from error
    except FileNotFoundError as error:
        raise UsageError(f"{path.parent} is not a directory") from error
    if invocation.format == "json":
        reasons = [{"setting": name, "value": value, "reason": reason} for name, value, reason in found]
        print_json({"file": str(path), "docroot": site, "output": output, "found": reasons})
    else:
        for name, value, reason in found:
            print_text(printable(f"{name} = {toml_value(value)}: {reason}"), invocation)
        print_text(f"wrote {path}; next: adaptc build" + ("" if site else " DOCROOT"), invocation)


def _profile_settings(profile: str | None, docroot: Path | None) -> dict[str, Any]:
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


def _settings_found(project: Path, docroot: str | None) -> Iterator[tuple[str, Any, str]]:
    """Yield settings that the surroundings of a site ask for: name, value, reason."""
    from adaptc.config.config import Config
    from adaptc.core.urls import NOWHERE
    from adaptc.site.published import find_base_url
    from adaptc.site.surroundings import look_around, named_domain

    folder = project / docroot if docroot else None
    surroundings = look_around(folder, project)
    if folder is not None and folder.is_dir():
        read = find_base_url(folder, Config().site.index)
        domain = named_domain(folder, project)
        if read is not None and not read.startswith(NOWHERE):
            yield "site.base_url", read, "the addresses of its pages"
        elif read is None and domain is not None:
            yield "site.base_url", f"https://{domain}/", "CNAME"
    if surroundings.sends_files and surroundings.host is not None:
        why = f"{surroundings.host.name} ({surroundings.host.reason}) sends files as they are"
        yield "build.levels", ("full", "web"), why
        yield "cost.preset", "static-host", f"{surroundings.host.name} speaks HTTP/2"


# ---- what a site is, for people


def surroundings_lines(
    docroot: Path | None, project: Path, output: Path | None = None, base_url: str | None = None
) -> Iterator[str]:
    """Yield what is known of a site, and the commands that would gain most.

    With an ``output`` it is for a build, which has said what application the site is.
    """
    from adaptc.browser import find_chromium
    from adaptc.core.urls import NOWHERE
    from adaptc.site.surroundings import first_commands, look_around

    surroundings = look_around(docroot, project)
    yield from _known(surroundings, base_url if base_url is None or not base_url.startswith(NOWHERE) else None)
    if output is None and surroundings.app is not None:
        yield str(surroundings.app)
    if docroot is not None:
        yield "what gains most, to paste:"
        option = "" if output is None or output == Path(USUAL_OUTPUT) else f" -o {shlex.quote(str(output))}"
        has_browser = find_chromium("") is not None
        site = shlex.quote(str(docroot))
        for found in first_commands(
            site, option, surroundings, has_browser=has_browser, finds=lambda name: bool(shutil.which(name))
        ):
            yield f"  {found.name}"
            yield f"      {found.reason}"


def _known(surroundings: Surroundings, base_url: str | None) -> Iterator[str]:
    parts = [f"made by {each.name} ({each.reason})" for each in [surroundings.generator] if each]
    parts += [f"published by {each.name} ({each.reason})" for each in [surroundings.host] if each]
    parts += [f"at {base_url}"] if base_url else []
    if parts:
        yield printable("; ".join(parts))


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
