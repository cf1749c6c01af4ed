"""Diagnostics: problems of the site, as values.

A diagnostic has a stable id, a severity, a location and a message. It is stored with its artifact and reported again
when the artifact is reused, so that a second run reports the same as the first. Only a mistake of the user before work
starts (``UsageError``) and a bug raise.

``KINDS`` is the one list of ids; ``docs/diagnostics.md`` explains each (a test compares the two).
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from adaptc.core.values import dataclass


class UsageError(Exception):
    """A mistake of the user that stops the run before work starts: a wrong option, path or configuration."""


class Busy(Exception):
    """Another process is using the output, mirror or run directory that the text names."""


class Fault(Enum):
    """What went wrong with a remote folder: access was refused, the place does not exist, or the request failed."""

    ACCESS = "access"
    MISSING = "missing"
    FAILED = "failed"


class RemoteError(Exception):
    """A request to a remote folder that failed for good; libraries have tried it again before."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault


class Severity(Enum):
    """The severity of a diagnostic. An error means that something could not be done at all."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    # That of Enum is a function in Python, and a site may have 200,000 diagnostics
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a source: a path relative to the docroot, a line and a column, both counted from 1.

    The path of a log is as the user wrote it.
    """

    path: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = [printable(self.path)]
        place += [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join(place)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A problem of the site. ``id`` is a key of ``KINDS`` and does not change between versions."""

    id: str
    severity: Severity
    message: str
    location: Location | None = None

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.severity.value}: {self.message} [{self.id}]"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of diagnostic: its severity and its message, with ``{fields}`` to fill in."""

    severity: Severity
    message: str


E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE

KINDS: dict[str, Kind] = {
    # loading a docroot
    "unreadable-file": Kind(E, "cannot be read ({reason}); it is left out, and the server sends the original"),
    "unreadable-directory": Kind(E, "cannot be listed ({reason}); nothing below it is built"),
    "special-file": Kind(W, "is a {kind}, not a file; it is left out"),
    "symlink-broken": Kind(W, "is a symbolic link to {target}, which does not exist; it is left out"),
    "symlink-outside": Kind(W, "is a symbolic link that leaves the docroot ({target}); it is refused"),
    "symlink-loop": Kind(W, "is a symbolic link that leads back to itself or above itself; it is left out"),
    "server-rule": Kind(
        W,
        "{rule} applies to {count} files, but would not apply to copies of them; they are not built "
        "(site.ignore_directives builds them)",
    ),
    "server-rule-unknown": Kind(
        W,
        "{rule}: what Apache makes of it is not known, so {count} files below are not built "
        "(site.ignore_directives builds them)",
    ),
    "server-rule-altered": Kind(
        N, "{rule} changes fields of answers; the emitted configuration does not repeat it for copies in the trees"
    ),
    "server-program": Kind(N, "is run by the server ({kind}); it is left out"),
    "private-name": Kind(N, "is {kind} by its name, and no content; it is left out (site.include names exceptions)"),
    "closed-mode": Kind(
        W,
        "holds {count} files that other users may not read by their modes; they are not built (chmod, or site.include "
        "names exceptions)",
    ),
    "case-collision": Kind(W, "differs from {other} in letter case only; a case-insensitive disk holds one of them"),
    "changed-while-read": Kind(W, "changed while it was read; it is left out until the next build"),
    "file-too-large": Kind(W, "is larger than the limit ({size} bytes, limit {limit}); it is not rewritten"),
    # references
    "base-url-read": Kind(
        N, "built as published at {url}, where the addresses of its pages lead (--base-url says otherwise)"
    ),
    "app-found": Kind(N, "{app}"),
    "missing-target": Kind(W, "{where} points to {url}, but there is no such file"),
    "outside-docroot": Kind(N, "{where} points to {url}, above the docroot"),
    "bad-url": Kind(W, "{where} is not a URL: {url}"),
    # pages
    "encoding-irreversible": Kind(W, "does not survive decoding and encoding as {encoding}; the page is not rewritten"),
    "page-not-html": Kind(N, "is {media_type}; pages of this type are not rewritten"),
    "page-unchanged": Kind(N, "pass {name} leaves this page as it is: {reason}"),
    "edit-refused": Kind(W, "pass {name} was dropped for this page: {reason}"),
    "page-reserialized": Kind(N, "pass {name} was applied by writing the page anew, since its markup is malformed"),
    "pass-larger": Kind(N, "pass {name} was dropped for this page: it made the page larger to transfer ({reason})"),
    "bundle-name-taken": Kind(W, "has no bundle next to it: the site has a file {name}"),
    "bundle-too-large": Kind(N, "is not bundled: its files have {size} bytes, more than {limit}"),
    "level-larger": Kind(N, "is the same at {name} as at {above}: {name} would make it larger to transfer ({reason})"),
    "page-needs-scripts": Kind(N, "is the same at {name} as at {above}: its scripts write its content ({reason})"),
    "page-not-composed": Kind(N, "is the same at {name} as at {above}: it cannot be composed ({reason})"),
    "contract-broken": Kind(W, "pass {name} was dropped for this page: it would break the contract ({reason})"),
    "pass-demoted": Kind(W, "pass {name} was dropped at {level}: in a browser {reason}"),
    "level-demoted": Kind(W, "is the same at {name} as at {above}: in a browser {reason}"),
    "not-built": Kind(E, "level {name} is not built: {reason}; the next build tries again"),
    "unit-too-slow": Kind(
        W, "would take more than {seconds} s of CPU time at {name}; it is left as it is (build.unit_seconds)"
    ),
    "pass-failed": Kind(E, "building {name} failed ({reason}); the original is kept. Please report this as a bug"),
    "template-source": Kind(N, "holds template directives ({mark}); the page is not rewritten"),
    "pinned-by-digest": Kind(N, "holds the digests of {count} files of the site: their bytes stay as they are"),
    "versions-outdated": Kind(
        N,
        "lists {count} files of the site by versions (MD5) or lengths, which may be others at lower levels: a service "
        "worker may keep what it has, or refuse what it gets. Make the list of the files that are published",
    ),
    # style sheets
    "css-malformed": Kind(W, "{problem}; the style sheet is not rewritten"),
    "css-import-cycle": Kind(W, "@import of {url} closes a cycle; it is ignored, as in browsers"),
    "css-import-kept": Kind(N, "@import of {url} is kept: {reason}"),
    # images
    "image-broken": Kind(W, "is not a readable {media_type} image ({problem}); it is copied as it is"),
    "image-bomb": Kind(W, "would need {pixels} pixels decoded, more than the limit of {limit}; it is copied as it is"),
    "image-wrong-extension": Kind(N, "is called {extension} but holds {media_type}"),
    "image-unchanged": Kind(N, "is copied as it is: {reason}"),
    "image-codec-missing": Kind(W, "has no alternate in {format}, which this libvips cannot write or read ({problem})"),
    "svg-entity": Kind(W, "declares entities or an external DTD; it is copied as it is, and nothing is resolved"),
    "svg-malformed": Kind(W, "is not well-formed XML ({problem}); it is copied as it is"),
    "svg-unchanged": Kind(N, "is copied as it is: {reason}"),
    # crawling
    "broken-link": Kind(W, "{where} leads to {url}, which {reason}"),
    "crawl-failed": Kind(E, "{url} {reason}{place}"),
    "robots-failed": Kind(
        E, "{origin}/robots.txt {reason}: of this origin nothing but the URLs that were named was asked for"
    ),
    "purge-too-many": Kind(
        E,
        "{gone} of {held} files would be removed, more than --purge-most {bound}: nothing was removed. "
        "A larger bound confirms that they are gone",
    ),
    "paths-repeat": Kind(
        W, "{links} not followed: their paths repeat, and more so at each step, as in {url}. --max-repeats allows more"
    ),
    "links-unread": Kind(
        W, "has {size}: its links are neither followed nor converted, only files up to {bound} are read"
    ),
    "links-unconverted": Kind(
        W, "keeps its links as they are: it does not survive decoding and encoding as {encoding}"
    ),
    "file-outdated": Kind(
        W, "{file} stays from a former crawl; this one did not find {url}. --purge removes such files"
    ),
    "file-purged": Kind(N, "{file} was removed: it is of a former crawl, and this one did not find {url}"),
    # screenshots
    "browser-missing": Kind(W, "no Chromium was found ({names}); {loss}"),
    "browser-failed": Kind(W, "{program} failed ({reason}); {loss}"),
    "page-not-seen": Kind(W, "a browser could not look at this page ({reason}); it is built without evidence"),
    # proofs
    "promise-broken": Kind(E, "level {level} does not keep its promise at {width} pixels: {differences}"),
    "page-unproven": Kind(W, "level {level} could not be proven at {width} pixels: {reason}"),
    # access logs
    "log-line-skipped": Kind(W, "is not in the log format: {line}"),
    "log-lines-skipped": Kind(W, "{count} of {lines} lines are not in the log format ({format}) and do not count"),
    "log-truncated": Kind(W, "cannot be read to its end ({reason}); the lines before the error count"),
    "log-without-pages": Kind(W, "no view of a page was found in the access logs; every page counts as popular"),
    # filters
    "filter-unsupported": Kind(
        N, "{count} of {total} filters are of a kind that adaptc does not know, such as {example}"
    ),
    # verifying a server
    "server-status": Kind(E, "{request}: the status is {got}, not {wanted}"),
    "server-body": Kind(E, "{request}: the body is {got}, not {wanted}"),
    "server-header": Kind(E, "{request}: {name} is {got}, not {wanted}"),
    "server-etag": Kind(E, "{version} and {other} differ but have the same ETag, {etag}"),
    "server-access": Kind(E, "{request}: without adaptation the server answers {before}, with it {got}"),
    "server-leak": Kind(E, "{request}: the answer is what the client must not get: {got}"),
    "server-unreachable": Kind(E, "{problem}"),
    # the machine of a server
    # measuring a server
    "calibration-error": Kind(
        W, "at level {level} the prediction is {percent} of what was measured; measure for longer"
    ),
    "calibration-unmeasured": Kind(N, "{what} was not measured: {reason}"),
    "calibration-network": Kind(
        W, "a line of {line} Mbit/s is full at {rate} pages a second of level {level}; the CPUs would do {cpus}"
    ),
    "calibration-throttled": Kind(
        W,
        "the quota of a control group stopped the server for {throttled} of {clock} s: the costs hold, the saturation "
        "is that of the quota",
    ),
    "calibration-quota": Kind(N, "the server may use {allowed} of {cpus} CPUs: capacities are computed for these"),
    "calibration-stolen": Kind(W, "other guests of this machine took {stolen} CPU seconds in {clock} s: measure again"),
    "calibration-one-size": Kind(
        W, "the files that the server sent are of one size: the cost of a kilobyte is unknown and taken as 0"
    ),
    # drilling
    "drill-error": Kind(E, "{lever}: {count} requests without an answer: {reason}"),
    "drill-wrong": Kind(E, "{lever}: {url} was answered with {answer}, {count} times"),
    "drill-throttled": Kind(
        W,
        "the quota of a control group stopped the server for {throttled} of {clock} s: CPU times hold, the times of "
        "views are those of the quota",
    ),
    "drill-unseen": Kind(N, "serve.expose is off: answers do not say their level, so only statuses are compared"),
    # using what was measured
    "profile-machine": Kind(W, "was measured {days} days ago on another machine: run adaptc calibrate here"),
    "profile-version": Kind(W, "was measured {days} days ago with {made}, not {used}: run adaptc calibrate again"),
    "profile-settings": Kind(
        W, "was measured {days} days ago with other settings of {names}: run adaptc calibrate again"
    ),
    "profile-old": Kind(W, "was measured {days} days ago: run adaptc calibrate again"),
    "setup-invalid": Kind(E, "{server} refuses its configuration: {problem}; fix that first"),
    "setup-module": Kind(E, "{server} lacks {module}, which adaptc's configuration needs: {fix}"),
    "setup-not-included": Kind(W, "does not include {file}: {effect}; its first lines say where"),
    "setup-outdated": Kind(W, "is not what adaptc would write now: run adaptc emit {server}, then reload the server"),
    "setup-missing": Kind(E, "does not exist: run adaptc build and adaptc emit, or copy the output here"),
    "setup-permissions": Kind(
        E, "{user} cannot read or search it (mode {mode}), so requests fail with 403: chmod a+{lacks}"
    ),
    "purge-failed": Kind(W, "a cache in front may send what was before: {problem}"),
    "setup-file-cache": Kind(
        W,
        "open_file_cache keeps results for {valid}, so flag and levels take that long to change: set "
        "open_file_cache_valid 1s, or open_file_cache off in the server block",
    ),
    "setup-accepts": Kind(
        W,
        "nginx accepts one connection a turn, so that in a crowd new visitors wait for all requests of those before: "
        "set multi_accept on in events",
    ),
    "setup-no-buckets": Kind(
        W,
        "[daemons.control] has settings, but the emitted configuration has no buckets, so that control has nothing to "
        "set: say buckets = true in [serve], run adaptc emit, reload the server",
    ),
    "setup-weak-levels": Kind(W, "{reason}"),
    "setup-headers": Kind(
        W,
        "add_header {name} has no effect any more, since nginx drops it where adaptc's lines are: move it into the "
        "server block, or to a file that serve.nginx_headers names",
    ),
    "setup-limits": Kind(
        W, "limit_req has no effect on pages any more: nginx drops it where that of serve.nginx_page_rate is"
    ),
    "setup-type": Kind(W, "knows no media type for .{extension} ({count} files): add {fix}"),
    "setup-override": Kind(E, "is ignored or refused: the server must have {fix} for {docroot}"),
    "setup-access": Kind(
        E,
        "{rule} does not apply to the copies in the trees: build again, with site.server_config if the rule is in the "
        "server's configuration; or write it as <Location {below}>",
    ),
    "setup-rule": Kind(N, "{rule} keeps {count} files from being built; the server answers {answers}"),
    "setup-rule-unknown": Kind(
        W,
        "{rule}: what the server makes of it is not known, so {count} files are not built; it answers {answers}",
    ),
    "setup-refused": Kind(
        E,
        "the server answers {status} for {path} ({count} files here), but it was built: build again; if it is still "
        "built then, name the directory in serve.exclude, and please report this",
    ),
    "setup-unasked": Kind(N, "the server could not be asked about access rules: {reason}"),
    "setup-timestamps": Kind(
        E,
        "the file system does not keep times to the second ({wrote} became {read}), so entity tags may be wrong: move "
        "the output to another",
    ),
    # action tables
    "action-malformed": Kind(E, "is not a valid line of an action table: {problem}"),
    "action-unknown": Kind(E, "{uri} has {action} in the table, but it was not built"),
    "action-missing": Kind(W, "{uri} was built with {action}, but the table does not have it"),
    "state-discarded": Kind(W, "could not be used, and everything was built anew: {reason}"),
    # checking trees
    "tree-stale": Kind(E, "is stale: {because}"),
    "tree-missing": Kind(E, "is missing: {because}"),
    "tree-orphaned": Kind(E, "is orphaned: {because}"),
    "tree-corrupt": Kind(E, "is corrupt: {because}"),
    "tree-foreign": Kind(E, "is foreign: {because}"),
    "tree-recipe": Kind(E, "was built by another recipe: {because}"),
    "budget-exceeded": Kind(E, "{level}: {what} is {got}, the budget is {limit}"),
    "budget-unchecked": Kind(W, "{level}: {what} has a limit, and was not {done}: {reason}"),
    "budget-growth": Kind(
        E, "{level}: {what} grew by {growth} since the baseline ({before} to {now}), more than {limit}"
    ),
    # publishing
    "export-failed": Kind(E, "cannot be exported ({reason})"),
    "export-name-taken": Kind(W, "{name} is a file of the site, and is not replaced by the encoded file of that name"),
    "remote-cache-failed": Kind(W, "the remote cache failed ({reason}); what it lacks is made here"),
    "publish-failed": Kind(E, "was not published ({reason})"),
    "export-withheld": Kind(W, "{count} files are not sent to another host: {reason}"),
    "export-source-maps": Kind(
        N,
        "{count} source maps ({size}) are left out: only developer tools ask for them (site.include names exceptions)",
    ),
    "export-stale": Kind(W, "level {level} is not up to date ({files}); run adaptc build first"),
    "export-policy": Kind(E, "pages may lose styles or scripts, as the policy does not get their hashes: {reason}"),
    "ladder-unregistered": Kind(N, "does not register the service worker of the ladder: {reason}"),
    "ladder-withdrawn": Kind(N, "{name} removes the service worker of an earlier export with --ladder"),
    "name-unpublishable": Kind(E, "cannot be published under this name ({reason})"),
}


def diagnose(kind: str, location: Location | None = None, /, **fields: Any) -> Diagnostic:
    """Return a diagnostic of a kind of ``KINDS``; ``fields`` are those of its message.

    Raises ``KeyError`` for an unknown kind or a missing field: both are bugs of the caller.
    """
    severity, message = KINDS[kind].severity, KINDS[kind].message
    texts = {name: printable(_shortened(str(value))) for name, value in fields.items()}
    return Diagnostic(kind, severity, message.format(**texts), location)


def _shortened(text: str) -> str:
    """Return a text that is too long for a message by its beginning and its end."""
    return text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]}…{text[-_SHOWN:]}"


_SHOWN = 200


def printable(text: str) -> str:
    r"""Return ``text`` as a single line for terminals: control and undecodable bytes become ``\n``, ``\xff``."""
    if text.isprintable():
        return text
    return "".join(map(_escape, text))


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as os.fsdecode decodes it (PEP 383)
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
