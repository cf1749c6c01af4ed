"""The options of ``adaptc crawl``: wget's names, and what wget has no name for.

One table of groups, in the order of ``--help``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import FILE, FOLDER
from adaptc.cli.crawl_run import PURGE_BOUND

_READ = click.Path(exists=True, dir_okay=False, path_type=Path)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


# click 8.2 made the class generic, 8.1 cannot be subscribed
if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType


class Quantity(_ParamType):
    """A number with a suffix of ``factors``."""

    def __init__(self, name: str, factors: dict[str, int], words: dict[str, float]) -> None:
        self.name, self.factors, self.words = name, factors, words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; refuse what is none."""
        if not isinstance(value, str):
            return float(value)
        if value in self.words:
            return self.words[value]
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]?)", value.strip().lower())
        if match is None or match[2] not in self.factors:
            suffixes = ", ".join(filter(None, self.factors))
            self.fail(f"{value!r} is not a {self.name}: a number, perhaps with one of {suffixes}", param, ctx)
        return float(match[1]) * self.factors[match[2]]


class Names(_ParamType):
    """Names with commas between them."""

    name = "list"

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names."""
        return tuple(filter(None, (name.strip() for name in value.split(",")))) if isinstance(value, str) else value


class Level(_ParamType):
    """A depth: a number, or ``inf``; 0 is ``inf`` too, as in wget."""

    name = "depth"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the depth; 0 for no bound."""
        if value in ("inf", "0", 0):
            return 0
        if isinstance(value, str) and not (value.isascii() and value.isdigit()):
            self.fail(f"{value!r} is neither a number nor inf", param, ctx)
        return int(value)


class Pattern(_ParamType):
    """A regular expression."""

    name = "regex"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> re.Pattern[str]:
        """Compile it; refuse what is none."""
        if isinstance(value, re.Pattern):
            return value
        try:
            return re.compile(value)
        except re.error as error:
            self.fail(f"{value!r} is not a regular expression: {error}", param, ctx)


_SIZE = Quantity("size", _FACTORS, {"inf": 0.0})
_TIME = Quantity("time", _SECONDS, {})
_LIST, _LEVEL, _REGEX = Names(), Level(), Pattern()
_COUNT = click.IntRange(0)

Row = tuple[tuple[str, ...], dict[str, Any]]


def _flag(*names: str, help: str) -> Row:
    return names, {"is_flag": True, "help": help}


def _off(name: str, target: str, help: str, *short: str) -> Row:
    """An option that switches off what is on by default."""
    return (*short, name, target), {"is_flag": True, "flag_value": False, "default": True, "help": help}


def _value(*names: str, type: Any, metavar: str, help: str, **more: Any) -> Row:
    return names, {"type": type, "metavar": metavar, "help": help, **more}


GROUPS: dict[str, tuple[Row, ...]] = {
    "Which links are followed": (
        _value("-l", "--level", type=_LEVEL, metavar="N", help="How deep; inf and 0: no bound.  [default: inf]"),
        _off("--no-recursive", "recursive", "Only the URLs themselves, and with -p their requisites."),
        _flag("-p", "--page-requisites", help="Also what pages need, from beyond --level and --no-parent."),
        _flag("-np", "--no-parent", help="Nothing above the directories of the URLs."),
        _flag("-H", "--span-hosts", help="Other hosts, too."),
        _value("-D", "--domains", type=_LIST, metavar="LIST", help="Only these domains (with -H)."),
        _value("--exclude-domains", type=_LIST, metavar="LIST", help="Not these domains."),
        _value("-I", "--include-directories", type=_LIST, metavar="LIST", help="Only these directories."),
        _value("-X", "--exclude-directories", type=_LIST, metavar="LIST", help="Not these directories."),
        _value("-A", "--accept", type=_LIST, metavar="LIST", help="Keep names with these suffixes or patterns."),
        _value("-R", "--reject", type=_LIST, metavar="LIST", help="Keep no names with these suffixes or patterns."),
        _value("--accept-regex", type=_REGEX, metavar="REGEX", help="Only URLs that match."),
        _value("--reject-regex", type=_REGEX, metavar="REGEX", help="No URLs that match."),
        _flag("--ignore-case", help="Letter case does not count in -A and -R."),
        _value("--filter", type=str, metavar="RULE", multiple=True,
               help="HTTrack's filters, as in +*.png or -*/ads/*; the last that matches wins. May be given again."),
        _value("--follow-tags", type=_LIST, metavar="LIST", help="Only links in these elements."),
        _value("-G", "--ignore-tags", type=_LIST, metavar="LIST", help="No links in these elements."),
        _flag("-L", "--relative", help="Only links that are written without a host."),
        _flag("--https-only", help="Only https."),
        _value("-Q", "--quota", type=_SIZE, metavar="SIZE", help="Stop after so many bytes."),
        _value("--max-total", type=_SIZE, metavar="SIZE", default="10G", show_default=True,
               help="End after so many bytes, decoded; inf: no bound."),
        _value("--max-time", type=_TIME, metavar="TIME", default="24h", show_default=True,
               help="End after so long; 0: no bound."),
        _value("--max-filesize", type=_SIZE, metavar="SIZE", help="No larger files, as received or decoded."),
        _value("--max-pages", type=click.IntRange(1), metavar="N", help="Stop after N pages."),
        _value("--max-url-length", type=click.IntRange(1), metavar="N", default=2000, show_default=True,
               help="No longer URLs, as traps generate them."),
        _value("--max-repeats", type=click.IntRange(1), metavar="N", default=4, show_default=True,
               help="No paths that repeat their directories more often."),
        _value("--strip-query", type=_LIST, metavar="LIST", help="Remove these parameters from queries."),
        _off("--no-robots", "robots", "Ignore robots.txt and meta robots."),
        _flag("--obey-nofollow", help="Do not follow links with rel=nofollow."),
        _off("--no-follow-sitemaps", "sitemaps", "Ignore the sitemaps that robots.txt names."),
        _flag("--spider", help="Check links; keep nothing."),
    ),
    "Names of files": (
        _flag("-E", "--adjust-extension", help="Append .html and .css where the type asks for it."),
        _value("--restrict-file-names", type=_LIST, metavar="MODES", default="unix", show_default=True,
               help="unix or windows, nocontrol, ascii, lowercase, uppercase."),
        _value("--cut-dirs", type=_COUNT, metavar="N", default=0, help="Leave out N directories."),
        _off("--no-host-directories", "host_directories", "No directory for each host.", "-nH"),
        _off("--no-directories", "directories", "No directories at all.", "-nd"),
        _flag("--protocol-directories", help="A directory for http and https."),
        _value("--default-page", type=str, metavar="NAME", default="index.html", show_default=True,
               help="The name of a directory's page."),
        _flag("--content-disposition", help="Use the names that the server gives."),
        _flag("--cut-file-get-vars", help="No queries in names; names that are taken get a number."),
        _flag("--trust-server-names", help="Name a redirected file after the target of the redirect."),
    ),
    "Links in the mirror": (
        _flag("-k", "--convert-links", help="Make links lead to the files, without touching other bytes."),
        _flag("-K", "--backup-converted", help="Keep the original of a converted file as FILE.orig."),
    ),
    "Politeness and retries": (
        _value("-w", "--wait", type=_TIME, metavar="TIME", default=0.0, help="Wait between requests to a host."),
        _flag("--random-wait", help="Wait 0.5 to 1.5 times that long."),
        _value("--limit-rate", type=_SIZE, metavar="SIZE", default=0.0,
               help="Bytes a second, all connections together."),
        _value("--connections", "--max-threads", type=click.IntRange(1, 64), metavar="N", default=8, show_default=True,
               help="Connections to one host at once."),
        _value("-t", "--tries", type=_COUNT, metavar="N", default=3, show_default=True, help="Attempts; 0: no bound."),
        _value("--waitretry", type=_TIME, metavar="TIME", default=10.0, help="The longest wait before trying again."),
        _flag("--retry-connrefused", help="Try again when a connection is refused."),
        _value("--retry-on-http-error", type=_LIST, metavar="LIST", help="Statuses to try again, as 429 and 503 are."),
        _value("-T", "--timeout", type=_TIME, metavar="TIME", help="Both of the following."),
        _value("--connect-timeout", type=_TIME, metavar="TIME", help="For a connection.  [default: 60]"),
        _value("--read-timeout", type=_TIME, metavar="TIME", help="For a silent server.  [default: 900]"),
        _value("--max-redirect", type=_COUNT, metavar="N", default=20, show_default=True, help="Redirects in a row."),
    ),
    "HTTP": (
        _value("-U", "--user-agent", type=str, metavar="TEXT", help="Instead of adaptc and its version."),
        _value("--referer", type=str, metavar="URL", help="Instead of the page with the link."),
        _value("--header", type=str, metavar="LINE", multiple=True, help="Add or replace a field. May be given again."),
        _value("--user", "--http-user", type=str, metavar="NAME", help="For the start URLs (Basic and Digest)."),
        _value("--password", "--http-password", type=str, metavar="TEXT", help="The password of --user."),
        _flag("--auth-no-challenge", help="Send Basic credentials without being asked."),
        _off("--no-netrc", "netrc", "Do not read ~/.netrc."),
        _off("--no-cookies", "cookies", "Accept and send no cookies."),
        _value("--load-cookies", type=FILE, metavar="FILE", help="Start with these cookies (Netscape's format)."),
        _value("--save-cookies", type=FILE, metavar="FILE", help="Write the cookies there at the end."),
        _flag("--keep-session-cookies", help="Write those of the session, too."),
        _value("--proxy", type=str, metavar="URL", help="Instead of http_proxy and https_proxy."),
        _off("--no-proxy", "use_proxy", "Use no proxy."),
        _value("--proxy-user", type=str, metavar="NAME", help="For the proxy."),
        _value("--proxy-password", type=str, metavar="TEXT", help="The password of --proxy-user."),
        _off("--no-check-certificate", "check_certificate", "Accept any certificate."),
        _value("--ca-certificate", type=_READ, metavar="FILE", help="Authorities to trust."),
        _value("--ca-directory", type=FOLDER, metavar="DIR", help="A directory of authorities."),
        _value("--certificate", type=_READ, metavar="FILE", help="The client's certificate (PEM)."),
        _value("--private-key", type=_READ, metavar="FILE", help="Its key (PEM)."),
        _flag("-4", "--inet4-only", help="Only IPv4."),
        _flag("-6", "--inet6-only", help="Only IPv6."),
        _value("--bind-address", type=str, metavar="ADDRESS", help="The local address."),
        (("--compression",), {"type": click.Choice(["auto", "none"]), "default": "auto", "show_default": True,
                              "help": "Offer gzip, deflate, br and zstd, or nothing."}),
        _off("--no-http-keep-alive", "keep_alive", "A connection for each request."),
        _flag("--ignore-length", help="Content-Length does not count."),
    ),
    "Later crawls": (
        _flag("-N", "--timestamping", help="Ask only for what changed."),
        _flag("-nc", "--no-clobber", help="Keep existing files, without a request."),
        _flag("-c", "--continue", help="Continue files that another program left incomplete."),
        _flag("-m", "--mirror", help="The same as -N -l inf."),
        _off("--no-use-server-timestamps", "server_timestamps", "Files get the time of the crawl."),
        _flag("--purge", help="Remove files whose URLs are gone."),
        _value("--purge-most", type=PURGE_BOUND, metavar="BOUND", default="10%", show_default=True,
               help="Remove nothing if more files than that, or a larger share of them, are gone."),
        _flag("--delete-after", help="Keep no files."),
        _flag("--content-on-error", help="Keep the bodies of errors, too."),
    ),
    "Records": (
        _value("--warc-file", type=FILE, metavar="NAME", help="Write requests and responses to NAME.warc.gz."),
        _flag("--warc-cdx", help="Write the index of the WARC file, NAME.cdx."),
        _off("--no-warc-compression", "warc_compression", "NAME.warc, without gzip."),
        _value("--warc-header", type=str, metavar="LINE", multiple=True, help="A field of the warcinfo record."),
        _value("--explain", type=str, metavar="URL",
               help="Say why the last crawl fetched a URL or not; fetch nothing."),
    ),
    "Input and output": (
        _value("-o", "--output", "-P", "--directory-prefix", "output", type=FOLDER, metavar="DIR", default="mirror",
               show_default=True, help="Where the mirror goes."),
        _value("-i", "--input-file", type=FILE, metavar="FILE", help="Read URLs from FILE, one a line."),
    ),
}  # fmt: skip
# The defaults of wget and of adaptc: accepted, since people write them.
_ALREADY = ("-r", "--recursive", "-x", "--force-directories")


_RULES = ("+", "-*", "-mime:")  # how arguments begin that are HTTrack's filters, and no options


# What --help shows, a screen of it; --help-all shows the rest
_USUAL = frozenset(
    {
        "-l", "-p", "-np", "-H", "-D", "-X", "-A", "-R", "--max-pages", "--no-robots", "-k", "-E", "-w", "--limit-rate",
        "--connections", "-U", "--header", "-N", "--purge", "--explain", "-o", "-i",
    }
)  # fmt: skip
ALL_OPTIONS = "--help-all"


class GroupedCommand(click.Command):
    """A command whose ``--help-all`` shows the options of ``GROUPS`` under headings, ``--help`` the usual ones."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line that mixes filters and URLs, as HTTrack's do; the order of filters counts."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        valued = {name for option in options if not option.is_flag for name in option.opts}
        return super().parse_args(ctx, _with_filters(args, valued))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those of no group last."""
        remaining = [
            option for option in self.get_params(ctx) if isinstance(option, click.Option) and not option.hidden
        ]
        shows_all = ctx.meta.get(ALL_OPTIONS, False)
        for heading, rows in GROUPS.items():
            first = {flags[0] for flags, _ in rows if shows_all or flags[0] in _USUAL}
            _write_options(
                heading,
                [option for option in remaining if first & {*option.opts, *option.secondary_opts}],
                ctx,
                formatter,
            )
            every = {flags[0] for flags, _ in rows}
            remaining = [option for option in remaining if not every & {*option.opts, *option.secondary_opts}]
        _write_options("Help", remaining, ctx, formatter)


def _show_all(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[ALL_OPTIONS] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _with_filters(arguments: list[str], valued: set[str]) -> list[str]:
    """Return arguments with each filter as the value of ``--filter``; ``valued`` are the options that take a value."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    before = ["", *arguments]
    return [
        f"--filter={argument}"
        if place < end and argument.startswith(_RULES) and before[place] not in valued
        else argument
        for place, argument in enumerate(arguments)
    ]


def _write_options(
    heading: str, options: list[click.Option], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    with formatter.section(heading):
        formatter.write_dl([record for option in options if (record := option.get_help_record(ctx)) is not None])


def crawl_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add every option to a command."""
    function = _refuse_missing(function)
    already: dict[str, Any] = {"is_flag": True, "hidden": True, "expose_value": False}
    function = click.option(*_ALREADY, "already", **already)(function)
    shown: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _show_all}
    function = click.option(ALL_OPTIONS, help="Show all options, those of wget and HTTrack, and exit.", **shown)(
        function
    )
    for rows in reversed(GROUPS.values()):
        for flags, attributes in reversed(rows):
            function = click.option(*flags, **attributes)(function)
    return function


# ---- options of wget that adaptc crawl does not have: each is a usage error that says so

MISSING_VALUES = (
    "--ask-password", "--base", "-B", "--body-data", "--body-file", "--ciphers", "--crl-file",
    "--dns-timeout", "--egd-file", "--ftp-password", "--ftp-user", "--hsts-file", "--local-encoding", "--method",
    "-O", "--output-document", "--output-file", "-a", "--append-output", "--pinnedpubkey", "--post-data", "--post-file",
    "--prefer-family", "--preferred-location", "--private-key-type", "--certificate-type", "--random-file",
    "--rejected-log", "--remote-encoding", "--secure-protocol", "--start-pos", "--use-askpass", "--regex-type",
    "--warc-dedup", "--warc-max-size", "--warc-tempdir", "--backups", "-e", "--execute", "--progress", "--report-speed",
)  # fmt: skip
MISSING_FLAGS = (
    "-b", "--background", "--convert-file-only", "-F", "--force-html",
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
}


def _refuse(_context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value in (None, False):
        return
    name = parameter.opts[0]
    instead = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
    raise click.UsageError(f"{name} of wget is missing in adaptc crawl{instead}")


def _refuse_missing(function: Callable[..., Any]) -> Callable[..., Any]:
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
