"""What adaptc knows of a server: one value per server, in a module of ``adaptc/serve/servers/`` with its name.

A ``Server`` is what holds everywhere, an ``Installation`` one that ``adaptc doctor`` examines on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adaptc.core.values import dataclass, field
from adaptc.formats.directives import Directive
from adaptc.serve.policy import CONF_DIRECTORY, Policy

if TYPE_CHECKING:
    from adaptc.core.diagnostics import Diagnostic
    from adaptc.report.manifest import Manifest
    from adaptc.serve.accounts import Account

Filter = Callable[[str], str]


def always(_policy: Policy) -> bool:
    """Hold for every policy."""
    return True


def never(_policy: Policy) -> bool:
    """Hold for no policy."""
    return False


def no_variables(_policy: Policy) -> Mapping[str, Any]:
    """Return no variables."""
    return {}


@dataclass(frozen=True, slots=True)
class EmittedFile:
    """A file that ``adaptc emit`` writes from the template ``NAME.j2``, if the policy needs it.

    ``is_included`` tells whether the configuration of the site must include it, ``is_global`` whether that of the
    server must, outside of every site. ``finish`` completes the rendered text; it raises ``ValueError`` for a mistake
    in the template.
    """

    name: str
    is_needed: Callable[[Policy], bool] = always
    is_included: Callable[[Policy], bool] = never
    is_global: Callable[[Policy], bool] = never
    finish: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class Paste:
    """A file of the site into which people copy the emitted text; it contains ``marker`` once they have."""

    file: Callable[[Policy], Path]
    marker: Callable[[Policy], str]


@dataclass(frozen=True, slots=True)
class Instance:
    """A server to start: its own directory, the docroot, the URL path of the docroot, and files to include.

    ``headers`` are those that the site itself sends; ``modules`` must be loaded in addition to the usual ones, as far
    as they are not built in. ``log_format`` is the name of the emitted format in which requests are logged, empty for
    no log. With ``certificate``, a file with the key too, the server speaks TLS, and HTTP/2 as far as it can.
    ``origin`` is the port on loopback of the origin server of a reverse proxy.
    """

    root: Path
    docroot: Path
    prefix: str
    index: tuple[str, ...]
    includes: tuple[Path, ...]
    headers: tuple[tuple[str, str], ...] = ()
    modules: tuple[str, ...] = ()
    log_format: str = ""
    certificate: Path | None = None
    origin: int = 0


@dataclass(frozen=True, slots=True)
class Launcher:
    """How ``adaptc verify-server`` starts a server on loopback, and what it expects of it.

    ``configuration`` is the text of its main file for an instance and a port, ``command`` takes the program, the
    instance's directory, that file and the port. ``modules`` are those that the policy needs, ``settling`` the
    seconds after which a change of the state directory has effect. ``omits`` tells which paths the server cannot
    adapt. With ``has_plain_ranges`` parts of files are those of the identity, whatever codings a client accepts.
    With ``ignores_if_match`` it answers as if there were no If-Match, as caches may (RFC 9110, section 13.1.1). With
    ``keeps_coding`` answers without a body name the coding of the file.
    """

    configuration: Callable[[Instance, int], str]
    command: Callable[[str, Path, Path, int], list[str]]
    modules: Callable[[Policy], tuple[str, ...]] = lambda _policy: ()
    settling: Callable[[Policy], float] = lambda _policy: 0.0
    omits: Callable[[str], bool] = lambda _path: False
    has_plain_ranges: bool = False
    ignores_if_match: bool = False
    keeps_coding: bool = False


def no_diagnostics(_installation: Installation) -> Iterator[Diagnostic]:
    """Find nothing."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Examination:
    """What ``adaptc doctor`` asks of a server.

    ``inspect`` takes its main file (None: the usual one) and its user (None: as configured), and returns its setup;
    it raises ``UsageError`` when the server is not installed. A missing module is a pair of its name and how to get it:
    ``module_refused`` reads it from the server's own error message, ``modules_missing`` compares the policy with the
    modules of the setup. ``extensions`` returns the file extensions whose media type the directives set,
    ``type_directive`` the line that adds a media type; ``sets_formats`` tells whether the emitted configuration itself
    sets those of image formats. The other checks are for what only this server may get wrong.
    """

    inspect: Callable[[Path | None, str | None], Setup]
    module_refused: Callable[[str], tuple[str, str] | None]
    modules_missing: Callable[[Policy, frozenset[str]], Iterable[tuple[str, str]]]
    extensions: Callable[[Sequence[Directive]], set[str]]
    type_directive: Callable[[str, str], str]
    sets_formats: bool = False
    slow_reaction: Callable[[Installation], Iterator[Diagnostic]] = no_diagnostics
    dropped_lines: Callable[[Installation], Iterator[Diagnostic]] = no_diagnostics
    refused_override: Callable[[Installation], Iterator[Diagnostic]] = no_diagnostics
    bypassed_rules: Callable[[Installation], Iterator[Diagnostic]] = no_diagnostics


@dataclass(frozen=True, slots=True)
class Server:
    """A server that ``adaptc emit NAME`` writes configuration for.

    ``variables`` are those of its templates in addition to the common ones, ``filters`` the filters: ``arg`` quotes
    an argument that may contain variables of the server, ``path`` one that contains none. ``lacks`` are the
    settings of ``[serve]`` that it cannot follow and refuses, of buckets, classes, reject and strict freshness, and
    ``ignores`` what of the trees it does not send, of formats and dictionaries.
    ``host`` is the name of the server that reads the files, if it is another. With ``is_reverse_proxy`` it chooses
    for origin servers, with ``is_cache`` it keeps their answers, too, and no other cache does. Raises of
    ``variables`` and filters: ``UsageError`` for a setting, ``ValueError`` for a text that cannot be expressed in
    the server's configuration.
    """

    name: str
    title: str
    files: tuple[EmittedFile, ...]
    filters: Callable[[Policy], Mapping[str, Filter]]
    variables: Callable[[Policy], Mapping[str, Any]] = no_variables
    tests: Mapping[str, Callable[[str], bool]] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()
    is_reverse_proxy: bool = False
    is_cache: bool = False
    uses_class_map: bool = False
    host: str | None = None
    paste: Paste | None = None
    programs: tuple[str, ...] = ()
    packages: str = ""
    launcher: Launcher | None = None
    examination: Examination | None = None


# ---- a server on this machine


@dataclass(frozen=True, slots=True)
class Setup:
    """What a server on this machine reports about itself.

    ``refusal`` is its error message when it refuses its configuration, else None; then modules, account and directives
    are known as far as the files can be read. ``file`` is the main file.
    """

    file: str
    refusal: str | None
    account: Account
    modules: frozenset[str]
    directives: tuple[Directive, ...]


@dataclass(frozen=True, slots=True)
class Installation:
    """A server with its setup.

    ``rendered`` has the servers whose files it reads, each with the texts that ``adaptc emit`` would write now by file
    name; the first are its own, and those to be pasted into the site come last. ``ignored_directives`` do not keep
    files from being built (``site.ignore_directives``).
    """

    server: Server
    examination: Examination
    setup: Setup
    policy: Policy
    manifest: Manifest
    rendered: tuple[tuple[Server, Mapping[str, str]], ...]
    ignored_directives: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where the emitted files are."""
        return Path(self.policy.output) / CONF_DIRECTORY

    @property
    def docroot(self) -> Path:
        """The source of the build, with links in its path unresolved, as in a server's configuration."""
        return Path(self.policy.docroot)

    @property
    def docroots(self) -> tuple[str, ...]:
        """The paths of the docroot, with links unresolved and resolved."""
        return tuple(dict.fromkeys((self.policy.docroot, os.path.realpath(self.policy.docroot))))

    def is_own(self, file: str) -> bool:
        """Whether a file of the server's configuration was written by ``adaptc emit``."""
        return os.path.dirname(os.path.realpath(file)) == os.path.realpath(self.folder)

    def target(self, server: Server, name: str) -> Path:
        """Return the file of the server that has the emitted file ``name`` as its content, or in it."""
        return server.paste.file(self.policy) if server.paste is not None else self.folder / name

    def is_pasted(self, server: Server) -> bool:
        """Whether the file into which people paste the emitted text contains it, in this version or an older one."""
        if server.paste is None:
            return False
        try:
            text = server.paste.file(self.policy).read_text("utf-8", "surrogateescape")
        except OSError:
            return False
        return server.paste.marker(self.policy) in text

    @property
    def has_pasted(self) -> bool:
        """Whether the site itself contains the rules of adaptc."""
        return any(self.is_pasted(server) for server, _ in self.rendered)
