"""``adaptc init``, which writes an ``adaptc.toml`` with every key, its default and a comment; and ``adaptc`` alone."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import Invocation, command
from adaptc.cli.render import print_json, print_text
from adaptc.core.diagnostics import UsageError, printable
from adaptc.core.fs import package_file

if TYPE_CHECKING:
    from adaptc.site.surroundings import Finding, Generator, Surroundings

USUAL_OUTPUT = "opt"
_NOTHING_WRITTEN = "(nothing was written; adaptc --help lists the commands)"
_LISTED = 5
_HERE = Path()
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
    from adaptc.site.surroundings import build_command, holds_pages, project_of, usual_docroot

    if schema:
        from adaptc.config.json_schema import json_schema

        print_json(json_schema())
        return
    path = invocation.config or Path("adaptc.toml")
    made = project_of(path.parent)
    there = docroot or _docroot_built(path.parent, output) or usual_docroot(path.parent)
    if there is None and holds_pages(path.parent):
        name = shlex.quote(path.parent.resolve().name)
        raise UsageError(
            f"{path.parent} is the site itself, and all in it is published: "
            f"in the directory above, adaptc init --docroot {name}"
        )
    site = there or (made[0].folder if made else None)
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
        first = f"{build_command(made[0], path.parent)}, which writes {site}, and " if made and there is None else ""
        print_text(f"wrote {path}; next: {first}adaptc build" + ("" if site else " DOCROOT"), invocation)


def _docroot_built(folder: Path, output: str) -> str | None:
    """Return the docroot of the last build, if it is there: a folder with a usual name may be what was exported."""
    from adaptc.config.config_file import read_last_build

    last = read_last_build(folder / output)
    return os.path.relpath(last[0], folder.resolve()) if last is not None and last[0].is_dir() else None


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


# ---- what a site is, for people: adaptc alone, and the end of a first build


def what_it_would_do(invocation: Invocation) -> list[str]:
    """Return what is known of the site in the working directory, and what to do with it; nothing without a site."""
    from adaptc.report.manifest import MANIFEST
    from adaptc.site.surroundings import holds_pages, project_of, sites_below, usual_docroot

    config = invocation.load({})
    is_built = (config.output / MANIFEST).is_file()
    named = str(config.docroot) if config.docroot is not None else None
    docroot = named or usual_docroot(_HERE) or ("." if holds_pages(_HERE) else None)
    made = project_of(_HERE)
    if docroot is not None and (is_built or Path(docroot).is_dir()):
        where = (
            f"the site in {_relative(Path(docroot))}, built in {config.output}"
            if is_built
            else f"the site in {docroot}"
        )
        output = config.output if is_built else None
        return [
            printable(f"{where} {_NOTHING_WRITTEN}"),
            *surroundings_lines(Path(docroot), _HERE, output, is_first=False),
        ]
    if made is not None:
        return list(_unbuilt(*made, docroot))
    below = sites_below(_HERE)
    if below:
        more = [f"  and {len(below) - _LISTED:,} more"] if len(below) > _LISTED else []
        lines = [f"  adaptc -C {shlex.quote(folder)}" for folder in below[:_LISTED]]
        return ["no site here, but below; to paste:", *map(printable, lines), *more]
    return []


def _relative(docroot: Path) -> str:
    return os.path.relpath(docroot)


def _unbuilt(generator: Generator, file: str, docroot: str | None) -> Iterator[str]:
    """Yield what to do with a project of which the generator has not written the site yet."""
    from adaptc.site.surroundings import build_command, look_around

    site = docroot or generator.folder
    yield f"a project of {generator.name} ({file}), whose site is not there yet {_NOTHING_WRITTEN}"
    yield from _known(look_around(None, _HERE), None, with_generator=False)
    yield "to paste, in this order:"
    yield f"  {build_command(generator, _HERE)}"
    yield f"      {generator.name} writes the site to {site}"
    yield f"  adaptc web {shlex.quote(site)} adapted"
    yield "      the same site with smaller images and pages, in adapted/, to be published in place of it"
    if generator.plugin:
        yield f"or once for all, with each build: {generator.plugin}"


def surroundings_lines(
    docroot: Path | None,
    project: Path,
    output: Path | None = None,
    base_url: str | None = None,
    *,
    is_first: bool = True,
) -> Iterator[str]:
    """Yield what is known of a site, and the commands that would gain most.

    With an ``output`` the site was built there. ``is_first`` is the end of a first build, which has said what
    application the site is.
    """
    from adaptc.core.urls import NOWHERE
    from adaptc.site.surroundings import look_around

    surroundings = look_around(docroot, project)
    yield from _known(surroundings, base_url if base_url is None or not base_url.startswith(NOWHERE) else None)
    if not is_first and surroundings.app is not None:
        yield str(surroundings.app)
    if docroot is not None:
        is_exported = output is not None and not is_first and _was_exported(output)
        title = "what gains most, to paste:" if output is not None else "to paste, in this order:"
        yield "it was exported, too; to see what came of it, to paste:" if is_exported else title
        for found in _commands(docroot, output, surroundings, is_exported=is_exported):
            yield f"  {found.name}"
            yield f"      {found.reason}"


def _was_exported(output: Path) -> bool:
    from adaptc.core.model import PRIVATE
    from adaptc.workflow.export.destination import ExportRecord

    return ExportRecord.are_in(output / PRIVATE)


def _commands(docroot: Path, output: Path | None, surroundings: Surroundings, *, is_exported: bool) -> list[Finding]:
    """Return the commands for a site; what they write lies outside of it."""
    from adaptc.browser import lacking
    from adaptc.site.surroundings import first_commands

    root, here = docroot.resolve(), _HERE.resolve()
    is_here = here.is_relative_to(root)
    next_to = os.path.join(os.path.relpath(root.parent), root.name) if is_here else ""
    place = output or (Path(f"{next_to}-{USUAL_OUTPUT}") if is_here else Path(USUAL_OUTPUT))
    option = "" if place == Path(USUAL_OUTPUT) else f" -o {shlex.quote(str(place))}"
    return first_commands(
        shlex.quote(_relative(docroot)),
        option,
        surroundings,
        has_browser=not lacking(),
        finds=lambda name: bool(shutil.which(name)),
        is_built=output is not None,
        is_exported=is_exported,
        adapted=shlex.quote(f"{next_to}-adapted") if is_here else "adapted",
    )


def _known(surroundings: Surroundings, base_url: str | None, *, with_generator: bool = True) -> Iterator[str]:
    made = [surroundings.generator] if with_generator else []
    parts = [f"made by {each.name} ({each.reason})" for each in made if each]
    parts += [f"published by {each.name} ({each.reason})" for each in [surroundings.host] if each]
    parts += [f"at {base_url}"] if base_url else []
    if parts:
        yield printable("; ".join(parts))


# ---- the file


def starting_text(docroot: str | None, output: str) -> str:
    """Return the text of an ``adaptc.toml`` whose comments explain every key."""
    from adaptc.config.config import Config
    from adaptc.core.sandbox import sandboxed

    source = package_file("adaptc.templates", "adaptc.toml.j2").read_text("utf-8")
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
