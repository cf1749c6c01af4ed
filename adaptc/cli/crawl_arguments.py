"""From the command line of ``adaptc crawl`` to the options of a crawl."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import UsageError
from adaptc.crawl.filters import parse_filter
from adaptc.crawl.names import NameOptions
from adaptc.crawl.options import RETRIED, AgainOptions, CrawlOptions, NetworkOptions, RecordOptions
from adaptc.crawl.scope import INFINITE, ScopeOptions
from adaptc.crawl.weburl import credentials_in, parts_of, start_url

_MODES = frozenset({"unix", "windows", "nocontrol", "ascii", "lowercase", "uppercase"})


def options_of(arguments: tuple[str, ...], given: dict[str, Any]) -> CrawlOptions:
    """Return what the command line asks for. Raises ``UsageError``."""
    urls = [argument for argument in arguments if argument[:1] not in ("+", "-")] + _listed(given["input_file"])
    if not urls:
        raise UsageError("name a URL to crawl")
    _check_companions(given, urls)
    rules = (*given["filter"], *(argument for argument in arguments if argument[:1] in ("+", "-")))
    return CrawlOptions(
        tuple(urls),
        given["output"],
        _scope(given, rules),
        _names(given),
        _network(given, urls),
        AgainOptions(
            timestamping=given["timestamping"] or given["mirror"],
            no_clobber=given["no_clobber"],
            continue_partial=given["continue"],
            use_server_timestamps=given["server_timestamps"],
            purge=given["purge"],
            delete_after=given["delete_after"],
        ),
        _records(given),
        robots=given["robots"],
        sitemaps=given["sitemaps"],
        spider=given["spider"],
        convert_links=given["convert_links"],
        backup_converted=given["backup_converted"],
    )


# Options that do nothing without another, which was forgotten then
_COMPANIONS = (("warc_cdx", "warc_file"), ("warc_header", "warc_file"), ("proxy_password", "proxy_user"))


def _check_companions(given: dict[str, Any], urls: list[str]) -> None:
    for name, needed in _COMPANIONS:
        if given[name] and given[needed] is None:
            raise UsageError(f"{_flag(name)} needs {_flag(needed)}")
    if given["password"] is not None and given["user"] is None and not any(map(credentials_in, urls)):
        raise UsageError("--password needs --user")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _records(given: dict[str, Any]) -> RecordOptions:
    headers = tuple(_header(line, "--warc-header") for line in given["warc_header"])
    return RecordOptions(given["warc_file"], given["warc_cdx"], given["warc_compression"], headers)


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


def _scope(given: dict[str, Any], rules: tuple[str, ...]) -> ScopeOptions:
    plain = (
        "page_requisites", "no_parent", "span_hosts", "relative", "accept_regex", "reject_regex", "ignore_case",
        "https_only", "max_pages", "max_repeats",
    )  # fmt: skip
    lists = ("domains", "exclude_domains", "include_directories", "exclude_directories", "accept", "reject")
    level = (given["level"] or INFINITE) if given["recursive"] else 0
    chosen: dict[str, Any] = {name: given[name] for name in plain} | {name: given[name] or () for name in lists}
    return ScopeOptions(
        **chosen,
        level=INFINITE if given["mirror"] else level,
        follow_tags=frozenset(map(str.lower, given["follow_tags"] or ())),
        ignore_tags=frozenset(map(str.lower, given["ignore_tags"] or ())),
        filters=tuple(map(parse_filter, rules)),
        quota=int(given["quota"]) if given["quota"] else None,
        max_filesize=int(given["max_filesize"]) if given["max_filesize"] else None,
        max_url=given["max_url_length"],
        strip_query=frozenset(given["strip_query"] or ()),
    )


def _names(given: dict[str, Any]) -> NameOptions:
    unknown = set(given["restrict_file_names"]) - _MODES
    if unknown:
        raise UsageError(f"--restrict-file-names: {', '.join(sorted(unknown))} is none of {', '.join(sorted(_MODES))}")
    if "/" in given["default_page"] or given["default_page"] in ("", ".", ".."):
        raise UsageError(f"--default-page {given['default_page']!r} is not the name of a file")
    same = (
        "adjust_extension", "cut_dirs", "host_directories", "directories", "protocol_directories", "default_page",
        "content_disposition", "trust_server_names",
    )  # fmt: skip
    return NameOptions(restrict=frozenset(given["restrict_file_names"]), **{name: given[name] for name in same})


def _network(given: dict[str, Any], urls: list[str]) -> NetworkOptions:
    same = (
        "referer", "connections", "tries", "wait", "random_wait", "max_redirect", "auth_no_challenge", "netrc",
        "cookies", "load_cookies", "save_cookies", "keep_session_cookies", "proxy", "use_proxy", "proxy_user",
        "proxy_password", "check_certificate", "ca_certificate", "ca_directory", "certificate", "private_key",
        "bind_address", "keep_alive", "ignore_length",
    )  # fmt: skip
    options = NetworkOptions(**{name: given[name] for name in same})
    timeout = given["timeout"]
    return replace(
        options,
        headers=tuple(_header(line, "--header") for line in given["header"]),
        user_agent=options.user_agent if given["user_agent"] is None else given["user_agent"],
        all_connections=max(options.all_connections, options.connections),
        limit_rate=int(given["limit_rate"]),
        retry_wait=given["waitretry"],
        retry_refused=given["retry_connrefused"],
        retry_on=RETRIED | frozenset(map(_status, given["retry_on_http_error"] or ())),
        connect_timeout=_first(given["connect_timeout"], timeout, options.connect_timeout),
        read_timeout=_first(given["read_timeout"], timeout, options.read_timeout),
        auth=_credentials(given, urls),
        family=4 if given["inet4_only"] else 6 if given["inet6_only"] else 0,
        compression=given["compression"] == "auto",
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


def _credentials(given: dict[str, Any], urls: list[str]) -> dict[str, tuple[str, str]]:
    """Return user and password by host: those in a URL, else those of the options, for the hosts of the URLs only."""

    credentials = {}
    for typed in urls:
        url = start_url(typed)
        own = credentials_in(typed)
        if url is not None and (own is not None or given["user"] is not None):
            credentials[parts_of(url).host] = own or (given["user"], given["password"] or "")
    return credentials
