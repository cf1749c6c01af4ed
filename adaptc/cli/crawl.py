"""``adaptc crawl``: mirrors a site. The command line becomes the options of a crawl."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from adaptc.cli.command import ExitCode, Invocation, command
from adaptc.cli.crawl_options import GroupedCommand, crawl_options
from adaptc.cli.crawl_run import crawl_code, crawl_record, crawl_summary, stoppable, watching_crawl
from adaptc.cli.render import diagnostic_records, show
from adaptc.core.diagnostics import UsageError, printable
from adaptc.core.interpreter import collect_seldom
from adaptc.crawl.filters import parse_filter
from adaptc.crawl.names import NameOptions
from adaptc.crawl.options import RETRIED, CrawlOptions, NetworkOptions, RecordOptions, UpdateOptions
from adaptc.crawl.scope import INFINITE, ScopeOptions
from adaptc.crawl.weburl import credentials_in, parts_of, start_url


@command("crawl", cls=GroupedCommand)
@click.argument("urls", nargs=-1, metavar="[URL]...")
@crawl_options
def crawl(invocation: Invocation, urls: tuple[str, ...], **parameters: Any) -> ExitCode:
    """Mirror a site from its server, with wget's options.

    Started again, an interrupted crawl resumes. State and log are in DIR/.adaptc.
    """
    if parameters["explain"] is not None:
        return _explain(invocation, parameters["output"], parameters["explain"])
    from adaptc.crawl.crawl import crawl as run

    options = options_of(urls, parameters)
    collect_seldom()
    with stoppable() as is_stopped, watching_crawl(invocation) as watch:
        result = run(options, is_stopped=is_stopped, watch=watch)
    record = crawl_record(result) | {"diagnostics": diagnostic_records(result.diagnostics)}
    show(record, crawl_summary(result), invocation, result.diagnostics)
    return crawl_code(result)


def _explain(invocation: Invocation, output: Path, url: str) -> ExitCode:
    from adaptc.crawl.report import explain_url

    sentence = explain_url(output, url)
    return show({"url": url, "explanation": sentence}, printable(sentence), invocation)


# ---- from the command line to the options of a crawl

_MODES = frozenset({"unix", "windows", "nocontrol", "ascii", "lowercase", "uppercase"})


def options_of(arguments: tuple[str, ...], parameters: dict[str, Any]) -> CrawlOptions:
    """Return what the command line asks for. Raises ``UsageError``."""
    urls = [argument for argument in arguments if argument[:1] not in ("+", "-")] + _listed(parameters["input_file"])
    if not urls:
        raise UsageError("name a URL to crawl")
    _check_companions(parameters, urls)
    rules = (*parameters["filter"], *(argument for argument in arguments if argument[:1] in ("+", "-")))
    return CrawlOptions(
        tuple(urls),
        parameters["output"],
        _scope(parameters, rules),
        _names(parameters),
        _network(parameters, urls),
        UpdateOptions(
            timestamping=parameters["timestamping"] or parameters["mirror"],
            no_clobber=parameters["no_clobber"],
            continue_partial=parameters["continue"],
            use_server_timestamps=parameters["server_timestamps"],
            purge=parameters["purge"],
            purge_most=parameters["purge_most"],
            delete_after=parameters["delete_after"],
        ),
        _records(parameters),
        robots=parameters["robots"],
        sitemaps=parameters["sitemaps"],
        obey_nofollow=parameters["obey_nofollow"],
        content_on_error=parameters["content_on_error"],
        spider=parameters["spider"],
        convert_links=parameters["convert_links"],
        backup_converted=parameters["backup_converted"],
    )


# Options that do nothing without another
_COMPANIONS = (("warc_cdx", "warc_file"), ("warc_header", "warc_file"), ("proxy_password", "proxy_user"))


def _check_companions(parameters: dict[str, Any], urls: list[str]) -> None:
    for name, needed in _COMPANIONS:
        if parameters[name] and parameters[needed] is None:
            raise UsageError(f"{_flag(name)} needs {_flag(needed)}")
    if parameters["password"] is not None and parameters["user"] is None and not any(map(credentials_in, urls)):
        raise UsageError("--password needs --user")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _records(parameters: dict[str, Any]) -> RecordOptions:
    headers = tuple(_header(line, "--warc-header") for line in parameters["warc_header"])
    return RecordOptions(parameters["warc_file"], parameters["warc_cdx"], parameters["warc_compression"], headers)


def _listed(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        lines = sys.stdin if str(path) == "-" else path.read_text("utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    listed = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]
    for number, line in listed:
        if start_url(line) is None:
            raise UsageError(f"{path}:{number}: {line!r} is not a URL of the web (http or https)")
    return [line for _, line in listed]


def _scope(parameters: dict[str, Any], rules: tuple[str, ...]) -> ScopeOptions:
    plain = (
        "page_requisites", "no_parent", "span_hosts", "relative", "accept_regex", "reject_regex", "ignore_case",
        "https_only", "max_pages", "max_repeats",
    )  # fmt: skip
    lists = ("domains", "exclude_domains", "include_directories", "exclude_directories", "accept", "reject")
    level = (parameters["level"] or INFINITE) if parameters["recursive"] else 0
    chosen: dict[str, Any] = {name: parameters[name] for name in plain} | {
        name: parameters[name] or () for name in lists
    }
    return ScopeOptions(
        **chosen,
        level=INFINITE if parameters["mirror"] else level,
        follow_tags=frozenset(map(str.lower, parameters["follow_tags"] or ())),
        ignore_tags=frozenset(map(str.lower, parameters["ignore_tags"] or ())),
        filters=tuple(map(parse_filter, rules)),
        max_total=int(parameters["max_total"]) or None,
        max_time=parameters["max_time"] or None,
        quota=int(parameters["quota"]) if parameters["quota"] else None,
        max_filesize=int(parameters["max_filesize"]) if parameters["max_filesize"] else None,
        max_url=parameters["max_url_length"],
        strip_query=frozenset(parameters["strip_query"] or ()),
    )


def _names(parameters: dict[str, Any]) -> NameOptions:
    unknown = set(parameters["restrict_file_names"]) - _MODES
    if unknown:
        raise UsageError(f"--restrict-file-names: {', '.join(sorted(unknown))} is none of {', '.join(sorted(_MODES))}")
    if "/" in parameters["default_page"] or parameters["default_page"] in ("", ".", ".."):
        raise UsageError(f"--default-page {parameters['default_page']!r} is not the name of a file")
    same = (
        "adjust_extension", "cut_dirs", "host_directories", "directories", "protocol_directories", "default_page",
        "content_disposition", "trust_server_names",
    )  # fmt: skip
    return NameOptions(
        restrict=frozenset(parameters["restrict_file_names"]),
        cut_queries=parameters["cut_file_get_vars"],
        **{name: parameters[name] for name in same},
    )


def _network(parameters: dict[str, Any], urls: list[str]) -> NetworkOptions:
    same = (
        "referer", "connections", "tries", "wait", "random_wait", "max_redirect", "auth_no_challenge", "netrc",
        "cookies", "load_cookies", "save_cookies", "keep_session_cookies", "proxy", "use_proxy", "proxy_user",
        "proxy_password", "check_certificate", "ca_certificate", "ca_directory", "certificate", "private_key",
        "bind_address", "keep_alive", "ignore_length",
    )  # fmt: skip
    options = NetworkOptions(**{name: parameters[name] for name in same})
    timeout = parameters["timeout"]
    return replace(
        options,
        headers=tuple(_header(line, "--header") for line in parameters["header"]),
        user_agent=options.user_agent if parameters["user_agent"] is None else parameters["user_agent"],
        all_connections=max(options.all_connections, options.connections),
        limit_rate=int(parameters["limit_rate"]),
        retry_wait=parameters["waitretry"],
        retry_refused=parameters["retry_connrefused"],
        retry_on=RETRIED | frozenset(map(_status, parameters["retry_on_http_error"] or ())),
        connect_timeout=_first(parameters["connect_timeout"], timeout, options.connect_timeout),
        read_timeout=_first(parameters["read_timeout"], timeout, options.read_timeout),
        auth=_credentials(parameters, urls),
        family=4 if parameters["inet4_only"] else 6 if parameters["inet6_only"] else 0,
        compression=parameters["compression"] == "auto",
    )


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)


def _status(written: str) -> int:
    if re.fullmatch(r"[1-5]\d\d", written) is None:
        raise UsageError(f"--retry-on-http-error: {written} is not a status")
    return int(written)


def _header(line: str, option: str) -> str:
    name, colon, _ = line.partition(":")
    if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or "\n" in line or "\r" in line:
        raise UsageError(f"{option} {line!r} is not a field: Name: value")
    return line


def _credentials(parameters: dict[str, Any], urls: list[str]) -> dict[str, tuple[str, str]]:
    """Return user and password by origin: those in a URL, else those of the options, for those of the URLs only."""
    credentials = {}
    for typed in urls:
        url = start_url(typed)
        own = credentials_in(typed)
        if url is not None and (own is not None or parameters["user"] is not None):
            credentials[parts_of(url).origin] = own or (parameters["user"], parameters["password"] or "")
    return credentials
