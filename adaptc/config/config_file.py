"""``adaptc.toml`` becomes a ``Config``: the schema of its tables, and the reading of a file.

``FIELDS`` is the one list of keys; ``docs/configuration.md`` explains each (a test compares the two). All mistakes of a
file are reported in one run, each with its line.

The docroot and the options of the last build of an output are kept in its private directory, as settings by dotted key,
so that later commands need not be given them again. A damaged file counts as none.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from adaptc.config import schema
from adaptc.config.config import (
    ACCESS,
    ALL_DIRECTIVES,
    ALL_PAGES,
    CLASS_MAPS,
    DELIVERY,
    EMIT_TARGETS,
    FRESHNESS,
    MIRRORS,
    NGINX_CLASSES,
    PROVED_PAGES,
    PUBLISHED_ENCODINGS,
    REVERSE_PROXIES,
    SECTIONS,
    CodingsConfig,
    Config,
)
from adaptc.config.schema import Check, InvalidSetting, InvalidValue, TableReading, Wording, flag, one_of, read_table
from adaptc.config.toml import TomlSource, nearest, nested, read_toml
from adaptc.core.diagnostics import KINDS, Severity, UsageError
from adaptc.core.fs import write_atomic
from adaptc.core.model import EFFORTS, PRIVATE

FILE_NAME = "adaptc.toml"
# What a crawl leaves in its mirror (adaptc.site.crawled)
_MIRROR_TABLE = f"{PRIVATE}/mirror.json"

# A part of the configuration that another module reads: it gets the configuration and the file, and raises
# ``UsageError`` that names every mistake, one a line.
Part = Callable[[Config, TomlSource], object]


# ---- checks of single keys


def _file_names(value: Any, base: Path) -> tuple[str, ...]:
    names = schema.texts(value, base)
    if any("/" in name for name in names):
        raise InvalidValue("a list of file names, without /")
    return names


def _levels(value: Any, base: Path) -> tuple[str, ...]:
    names = schema.texts(value, base)
    if not names or len(set(names)) < len(names):
        raise InvalidValue("a list of level names, each once")
    return names


def _base_url(value: Any, _base: Path) -> str:
    if (
        not isinstance(value, str)
        or not re.fullmatch(r"https?://[^/\s?#]+(/[^\s?#]*)?", value)
        or not schema.is_http_url(value)
    ):
        raise InvalidValue("an http or https URL without query and fragment, such as https://example.org/")
    return value if value.count("/") > 2 else f"{value}/"


def _directives(value: Any, base: Path) -> tuple[str, ...]:
    names = schema.texts(value, base)
    if not all(re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) for name in names):
        raise InvalidValue(f'names of directives, such as Require, or "{ALL_DIRECTIVES}"')
    return names


# The forms of ``adaptc.serve.purge``: a build that purges in vain tells so at its end, one that cannot at its begin
_CACHE = re.compile(r"varnish(?::.*)?|nginx:(?:https?://|/).*|(?:fastly|cloudflare):.+|command:.*\S.*", re.DOTALL)


def _caches(value: Any, base: Path) -> tuple[str, ...]:
    """Allow a list of caches that can be purged."""
    caches = schema.texts(value, base)
    if not all(map(_CACHE.fullmatch, caches)):
        raise schema.InvalidValue(
            "a list of caches: varnish, varnish:-n NAME, nginx:DIRECTORY, nginx:URL, fastly:SERVICE, cloudflare:ZONE, "
            "command:PROGRAM"
        )
    return caches


def _url_paths(value: Any, base: Path) -> tuple[str, ...]:
    return tuple(schema.url_path(item, base) for item in schema.texts(value, base))


def _logs(value: Any, base: Path) -> tuple[str, ...]:
    is_list = isinstance(value, list | tuple)
    if not is_list or not all(isinstance(item, str) and item not in ("", "-") for item in value):
        raise InvalidValue('a list of files or shell patterns, such as ["logs/access.log*"]')
    return tuple(str(schema.path(item, base)) for item in value)


def _log_format(value: Any, base: Path) -> str:
    from adaptc.formats.accesslog.parser import compile_format

    try:
        parser = compile_format(schema.string(value, base))
    except UsageError as error:
        raise InvalidValue(f"a log format that can be read ({error})") from None
    if parser.lacks("target", "status"):
        raise InvalidValue("a log format with the request and its status, by which page views are counted")
    return parser.format


def _url(value: Any, _base: Path) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^\x00-\x20]+", value):
        raise InvalidValue("a URL, such as s3://bucket or s3://bucket/folder")
    return value


def _scheduler(value: Any, _base: Path) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z][a-z0-9+.-]*://[^\x00-\x20]+", value):
        raise InvalidValue("the address of a scheduler of Dask, such as tcp://10.0.0.5:8786")
    return value


def _cache_control(value: Any, base: Path) -> tuple[tuple[str, str], ...]:
    rules = tuple(value) if isinstance(value, tuple) else tuple(schema.table(value, base).items())
    if not all(pattern and isinstance(text, str) and re.fullmatch(r"[ -~]+", text) for pattern, text in rules):
        raise InvalidValue('a table of patterns and values of Cache-Control, such as {"assets/*" = "max-age=600"}')
    return rules


_WANTED_PAGES = f'a whole number of at least 0, or "{ALL_PAGES}"'


def _pages(value: Any, _base: Path) -> int | str:
    if value == ALL_PAGES:
        return ALL_PAGES
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise InvalidValue(_WANTED_PAGES)


def _proved(value: Any, base: Path) -> int | str:
    if isinstance(value, bool):
        return PROVED_PAGES if value else 0
    try:
        return _pages(value, base)
    except InvalidValue:
        raise InvalidValue(f"true, false, {_WANTED_PAGES}") from None


FIELDS: dict[str, Check] = {
    "docroot": schema.path,
    "output": schema.path,
    "site.base_url": _base_url,
    "site.index": _file_names,
    "site.exclude": schema.texts,
    "site.include_hidden": flag,
    "site.include": schema.texts,
    "site.max_file_bytes": schema.size(),
    "site.max_pixels": schema.whole(1),
    "site.csp": schema.string,
    "site.csp_hashes": flag,
    "site.server_config": schema.path,
    "site.ignore_directives": _directives,
    "build.levels": _levels,
    "build.effort": one_of(*EFFORTS),
    "build.jobs": schema.whole(0),
    "build.cache": schema.path,
    "build.cache_size": schema.size(),
    "build.remote_cache": _url,
    "build.remote_cache_readonly": flag,
    "build.scheduler": _scheduler,
    "build.identity": one_of("complete", "changed"),
    "build.unit_seconds": schema.duration(0.01, 86400 * 365),
    **{f"codings.{field.name}": flag for field in fields(CodingsConfig)},
    "codings.effort": one_of("build", *EFFORTS),
    "codings.versions_back": schema.whole(0),
    "select.logs": _logs,
    "select.share": schema.number(0.01, 1),
    "select.format": _log_format,
    "cost.preset": one_of(*DELIVERY),
    "cost.profile": schema.path,
    "cost.view_ms": schema.number(0),
    "cost.request_ms": schema.number(0),
    "cost.kilobyte_ms": schema.number(0),
    "cost.pages_per_visit": schema.number(1),
    "cost.warm_share": schema.number(0, 1),
    "cost.dictionary_share": schema.number(0, 1),
    "cost.data_uri_budget": schema.size(),
    "cost.data_uri_max": schema.size(),
    "decorations.keep": schema.texts,
    "decorations.drop": schema.texts,
    "decorations.rules": schema.path,
    "decorations.filters": schema.paths,
    "browser.pages": _pages,
    "browser.prove": _proved,
    "browser.program": schema.string,
    "serve.emit": schema.subset_of(EMIT_TARGETS),
    "serve.name": schema.string,
    "serve.prefix": schema.url_path,
    "serve.docroot": schema.path,
    "serve.output": schema.path,
    "serve.state": schema.path,
    "serve.templates": schema.path,
    "serve.flag": flag,
    "serve.level": schema.string,
    "serve.ladder": schema.texts,
    "serve.buckets": flag,
    "serve.reject": flag,
    "serve.retry_after": schema.whole(0),
    "serve.shared_seconds": schema.whole(0),
    "serve.purge": _caches,
    "serve.reverse_proxy": one_of(*REVERSE_PROXIES),
    "serve.freshness": one_of(*FRESHNESS),
    "serve.access": one_of(*ACCESS),
    "serve.status": schema.listener,
    "serve.classes": flag,
    "serve.classes_need_flag": flag,
    "serve.hints": flag,
    "serve.critical_hints": flag,
    "serve.poor_level": schema.string,
    "serve.normal_level": schema.string,
    "serve.rich_level": schema.string,
    "serve.class_map": one_of(*CLASS_MAPS),
    "serve.expose": flag,
    "serve.exclude": _url_paths,
    "serve.trusted_proxies": schema.networks,
    "serve.client_header": schema.header_name,
    "serve.htaccess_trees": schema.url_path,
    "serve.nginx_location": flag,
    "serve.nginx_headers": schema.path,
    "serve.nginx_classes": one_of(*NGINX_CLASSES),
    "serve.nginx_file_cache": flag,
    "serve.nginx_page_rate": schema.whole(0, 1_000_000),
    "publish.url": _url,
    "publish.level": schema.text,
    "publish.encodings": one_of(*PUBLISHED_ENCODINGS),
    "publish.cache_control": _cache_control,
}

# Tables whose keys are names that FIELDS cannot list: of levels, diagnostics, daemons, and of levels again.
OPEN_TABLES = ("levels", "diagnostics", "daemons", "budgets")

_SCHEMA = {**nested(FIELDS), **dict.fromkeys(OPEN_TABLES, schema.table)}


# ---- [diagnostics]

_SEVERITIES: dict[str, Severity | None] = {**{severity.value: severity for severity in Severity}, "off": None}


def _severity(kind: str, value: Any, base: Path) -> Severity | None:
    severity = _SEVERITIES[one_of(*_SEVERITIES)(value, base)]
    if KINDS[kind].severity is Severity.ERROR and severity is not Severity.ERROR:
        raise InvalidSetting("is an error, and errors cannot be silenced")
    return severity


_DIAGNOSTICS = {kind: partial(_severity, kind) for kind in KINDS}
_DIAGNOSTICS_WORDING = Wording("unknown diagnostic {}".format, "diagnostics.{}".format)


# ---- reading


def read_config(
    path: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    parts: Iterable[Part] = (),
    *,
    repeats: bool = False,
) -> Config:
    """Read ``path``, or ``adaptc.toml`` of the working directory if there is one, or return the defaults.

    ``overrides`` are settings of the command line by dotted key (``{"build.effort": "max"}``). They win over the file,
    None is ignored, and relative paths in them start from the working directory. ``parts`` check the tables of other
    modules. With ``repeats``, what neither says is taken from the last build of the same docroot.
    Raises ``UsageError`` that names every mistake of all of them, one a line.
    """
    file, base = _file_source(path)
    options = {key: value for key, value in (overrides or {}).items() if value is not None}
    if repeats:
        options = {**_last_options(file, base, options), **options}
    command_line = TomlSource("command line", nested(options))
    readings = [_read_tables(file, base), _read_tables(command_line, Path())]
    open_tables = {name: (command_line if name in command_line.values else file).below(name) for name in OPEN_TABLES}
    severities = read_table(open_tables["diagnostics"], _DIAGNOSTICS, base, _DIAGNOSTICS_WORDING)
    config = Config(
        levels=open_tables["levels"],
        daemons=open_tables["daemons"],
        budgets=open_tables["budgets"],
        diagnostics=tuple(severities.values.items()),
        file=base / Path(file.name).name if file.name else None,
        options=tuple(options.items()),
        has_levels=any("levels" in reading.values.get("build", {}) for reading in readings),
    )
    for reading in readings:
        config = _with_settings(config, reading.values)
    problems = [problem for reading in (*readings, severities) for problem in reading.problems]
    problems += [problem for part in parts for problem in schema.problems_of(partial(part, config, file))]
    if path is None and config.file is not None:
        _refuse_content(config.file, config, file)
    schema.refuse(problems)
    _refuse_overlap(config)
    return config


def _refuse_content(file: Path, config: Config, source: TomlSource) -> None:
    """Refuse a file that was found, not named, where the content of a site is: in a docroot, or in a mirror.

    Whoever may write a page could write it, and it names programs, templates and places. The docroot may be that of
    the command line, of the file itself, or of the output's last build.
    """
    own, last = source.values.get("docroot"), read_last_build(config.output)
    docroots = [config.docroot, file.parent / own if isinstance(own, str) else None, last[0] if last else None]
    places = {Path(os.path.realpath(place)) for place in (file.parent, os.path.dirname(os.path.realpath(file)))}
    where = next((f"the docroot {root}" for root in docroots if root is not None and _holds(root, places)), None)
    mirrors = (each for place in places for each in (place, *place.parents) if (each / _MIRROR_TABLE).is_file())
    where = where or next((f"the mirror {mirror}" for mirror in mirrors), None)
    if where is not None:
        raise UsageError(
            f"{file} is inside {where}, where it may be content of the site: it is not read."
            f" Name it if it is meant: --config {file}"
        )


def _holds(docroot: Path, places: Iterable[Path]) -> bool:
    real = os.path.realpath(docroot)
    return any(place.is_relative_to(real) for place in places)


def _file_source(path: Path | None) -> tuple[TomlSource, Path]:
    """Return the file's source and the directory that its relative paths start from."""
    if path is None and not Path(FILE_NAME).exists():
        return TomlSource(), Path()
    file = path or Path(FILE_NAME)
    return read_toml(file), file.parent


def _read_tables(source: TomlSource, base: Path) -> TableReading:
    return read_table(source, _SCHEMA, base, Wording(suggest=_suggest))


def _last_options(file: TomlSource, base: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return docroot and options of the output's last build that neither the file nor ``options`` set.

    Nothing, if that was a build of another docroot, or if its record is damaged.
    """
    written = _read_tables(file, base).values
    given = _read_tables(TomlSource(values=nested(options)), Path()).values
    config = _with_settings(_with_settings(Config(), written), given)
    last = read_last_build(config.output)
    if last is None or (config.docroot is not None and config.docroot.resolve() != last[0].resolve()):
        return {}
    settings = {key: value for key, value in {"docroot": last[0], **last[1]}.items() if not _is_set(written, key)}
    return {} if _read_tables(TomlSource(values=nested(settings)), Path()).problems else settings


def _is_set(values: Mapping[str, Any], key: str) -> bool:
    table, _, leaf = key.rpartition(".")
    return leaf in (values.get(table, {}) if table else values)


def _suggest(key: str, _known: Collection[str]) -> str:
    """Suggest a key: one of the same table that is nearly the same, the same name in another table, one spelt alike."""
    table, _, leaf = key.rpartition(".")
    plural = f"{table}.{leaf}s" if not leaf.endswith("s") else f"{table}.{leaf[:-1]}"
    if plural in FIELDS:
        return f", did you mean {plural}?"
    same_leaf = [known for known in FIELDS if known.rpartition(".")[2] == leaf]
    if same_leaf:
        return f", did you mean {same_leaf[0]}?"
    return nearest(key, [*FIELDS, *SECTIONS, *OPEN_TABLES])


def _with_settings(config: Config, values: Mapping[str, Any]) -> Config:
    """Return ``config`` with the values of a file or the command line, which fit the schema, over it."""
    return replace(config, **dict(_changes(config, values)))


def _changes(config: Config, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if key in SECTIONS:
            yield key, replace(getattr(config, key), **value)
        elif key not in OPEN_TABLES:
            yield key, value


def _refuse_overlap(config: Config) -> None:
    """Publishing removes files without a source, so a docroot inside the output would be deleted."""
    if config.docroot is None:
        return
    docroot, output = config.docroot.resolve(), config.output.resolve()
    if docroot.is_relative_to(output) and not docroot.is_relative_to(output / MIRRORS):
        raise UsageError(f"output {config.output} holds the docroot {config.docroot}: choose another output")


# ---- the last build

LAST_BUILD = ".adaptc/last-build.json"
# Options that say what is built; those that say how (as jobs) are for one build only.
_KEYS = (
    "build.levels", "build.effort", "build.cache", "site.base_url", "browser.pages", "browser.prove", "cost.preset",
    "codings.gz", "codings.zst", "codings.effort",
)  # fmt: skip


def store_last_build(output: Path, docroot: Path, options: Mapping[str, Any]) -> None:
    """Store the docroot of a build and its options. Raises ``OSError`` when the file cannot be written.

    The docroot is relative to the output, so that both may be moved.
    """
    settings = {key: _plain(options[key]) for key in _KEYS if key in options}
    record = {"docroot": os.path.relpath(os.path.realpath(docroot), os.path.realpath(output)), "options": settings}
    write_atomic(str(output / LAST_BUILD), json.dumps(record, indent=1).encode(), 0o600, keep_equal=True)


def _plain(value: Any) -> Any:
    return os.path.abspath(value) if isinstance(value, Path) else value


def read_last_build(output: Path) -> tuple[Path, Mapping[str, Any]] | None:
    """Return the docroot of the last build and its options, which are not checked; ``None`` when they are not known."""
    try:
        record = json.loads((output / LAST_BUILD).read_bytes())
        docroot, options = record["docroot"], record["options"]
        path = Path(os.path.normpath(os.path.join(os.path.realpath(output), docroot)))
        return path, {key: options[key] for key in _KEYS if key in options}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
