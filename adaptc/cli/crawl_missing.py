"""Options of wget that ``adaptc crawl`` does not have: each is a usage error that says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

MISSING_VALUES = (
    "--ask-password", "--base", "-B", "--body-data", "--body-file", "--ciphers", "--crl-file",
    "--dns-timeout", "--egd-file", "--ftp-password", "--ftp-user", "--hsts-file", "--local-encoding", "--method",
    "-O", "--output-document", "--output-file", "-a", "--append-output", "--pinnedpubkey", "--post-data", "--post-file",
    "--prefer-family", "--preferred-location", "--private-key-type", "--certificate-type", "--random-file",
    "--rejected-log", "--remote-encoding", "--secure-protocol", "--start-pos", "--use-askpass", "--regex-type",
    "--warc-dedup", "--warc-max-size", "--warc-tempdir", "--backups", "-e", "--execute", "--progress", "--report-speed",
)  # fmt: skip
MISSING_FLAGS = (
    "-b", "--background", "--content-on-error", "--convert-file-only", "-F", "--force-html",
    "--follow-ftp", "--no-cache", "--no-dns-cache", "--no-hsts", "--no-if-modified-since",
    "--no-iri", "--no-warc-digests", "--no-warc-keep-log", "--retry-on-host-error",
    "-S", "--server-response", "--save-headers", "--strict-comments", "--unlink", "--input-metalink",
    "-nv", "--no-verbose", "-d", "--debug", "--no-config", "--show-progress", "--xattr", "--no-remove-listing",
    "--no-glob", "--no-passive-ftp", "--preserve-permissions", "--retr-symlinks", "--ftps-implicit",
    "--ftps-resume-ssl", "--ftps-clear-data-connection", "--ftps-fallback-to-ftp",
)  # fmt: skip
# What does the same here, where something does.
_INSTEAD = {
    "-e": "for robots=off, there is --no-robots",
    "--execute": "for robots=off, there is --no-robots",
    "-O": "the mirror has a file for each URL; --output names its directory",
    "--output-document": "the mirror has a file for each URL; --output names its directory",
    "-nv": "--quiet prints errors only",
    "--no-verbose": "--quiet prints errors only",
    "--rejected-log": "DIR/.adaptc/crawl.jsonl says why a link was not followed",
    "--save-headers": "--warc-file keeps them",
    "--server-response": "--warc-file keeps them",
    "-S": "--warc-file keeps them",
    "--content-on-error": "--warc-file keeps them",
}


def _refuse(_context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value in (None, False):
        return
    name = parameter.opts[0]
    instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
    raise click.UsageError(f"{name} of wget is missing in adaptc crawl{instead}")


def refuse_missing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that are refused, hidden from ``--help``, to a command."""
    attributes: dict[str, Any] = {"hidden": True, "expose_value": False, "callback": _refuse}
    for name in MISSING_VALUES:
        function = click.option(name, _identifier(name), **attributes)(function)
    for name in MISSING_FLAGS:
        function = click.option(name, _identifier(name), is_flag=True, **attributes)(function)
    return function


def _identifier(name: str) -> str:
    """Return a parameter's name: short options that differ in letter case only are two."""
    letters = name.lstrip("-")
    return f"missing_{letters.replace('-', '_')}" if len(letters) > 1 else f"missing_{ord(letters)}"
