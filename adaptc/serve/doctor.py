"""``adaptc doctor``: the checks of each server for which configuration was emitted.

A check is a function that yields a diagnostic for each problem: what is wrong, and how to fix it. What depends on the
server is a question to its ``Examination``.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit

from adaptc.compile.engine.state.state import last_build
from adaptc.config.config import Config
from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.fs import DiskTree
from adaptc.core.model import FORMATS
from adaptc.core.values import dataclass, replace
from adaptc.formats.directives import Directive
from adaptc.report.manifest import last_manifest
from adaptc.serve.accounts import account_of, refusals
from adaptc.serve.capacity.rungs import ladder_of, weakness
from adaptc.serve.emitter import render
from adaptc.serve.launch import launcher_of, running, unprivileged_user
from adaptc.serve.policy import CONF_DIRECTORY, Policy, policy_of
from adaptc.serve.server import Examination, Installation, Instance, Server, Setup
from adaptc.serve.servers import all_servers, examinable
from adaptc.site.apache_configuration import access_names, configured_rules, expanded, rules_above
from adaptc.site.server_rules import ServerRule, ServerRules, without_own_block

Check = Callable[[Installation], Iterator[Diagnostic]]

MOMENT = 1_700_000_001  # odd: FAT keeps even seconds only
PART_END = b"# adaptc: end\n"


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """The result for a server: its user, its main file, the number of checks, and their diagnostics."""

    server: str
    user: str
    file: str
    checks: int
    diagnostics: tuple[Diagnostic, ...]


def examine(config: Config, names: Sequence[str], file: Path | None, user: str | None) -> list[ServerHealth]:
    """Examine the servers ``names``; without names, all those that configuration was emitted for.

    ``file`` is the server's main configuration file, ``user`` the user of its workers; None: what the server reports.
    Raises ``UsageError`` when nothing was emitted, or a server is not installed.
    """
    with last_build(config.output) as state:
        policy = policy_of(state, config)
    servers = [server for server in examinable() if server.name in names or (not names and _is_emitted(policy, server))]
    if not servers or not all(_is_emitted(policy, server) for server in servers):
        what = names[0] if names else " or adaptc emit ".join(server.name for server in examinable())
        raise UsageError(f"no configuration of a server in {policy.output}/{CONF_DIRECTORY}; run adaptc emit {what}")
    if file is not None and len(servers) > 1:
        raise UsageError("--server-config needs --server: name the server of the file")
    found = [_checked(installation_of(config, policy, server, file, user)) for server in servers]
    said = tuple(powerless_daemons(config, policy))
    return [replace(health, diagnostics=(*health.diagnostics, *said), checks=health.checks + 1) for health in found]


def powerless_daemons(config: Config, policy: Policy) -> Iterator[Diagnostic]:
    """Daemons that are configured have something to set, and it helps in a crowd."""
    place = Location(str(config.file or config.output))
    if "control" in config.daemons.values and not policy.serve.buckets:
        yield diagnose("setup-no-buckets", place)
    if {"control", "switch"} & config.daemons.values.keys():
        reachable = policy.ladder if policy.serve.buckets else (policy.level,)
        if reason := weakness(ladder_of(last_manifest(config.output)), reachable):
            yield diagnose("setup-weak-levels", place, reason=reason)


def installation_of(
    config: Config, policy: Policy, server: Server, file: Path | None, user: str | None
) -> Installation:
    """Return what the checks compare. Raises ``UsageError`` when the server is not installed."""
    examination = _examination(server)
    setup: Setup = examination.inspect(file, user)
    rendered = tuple((emitted, render(emitted, policy)) for emitted in _emitted(policy, server))
    manifest, ignored = last_manifest(config.output), config.site.ignore_directives
    return Installation(server, examination, setup, policy, manifest, rendered, ignored)


def _examination(server: Server) -> Examination:
    if server.examination is None:
        raise UsageError(f"adaptc doctor cannot examine {server.title}")
    return server.examination


def _emitted(policy: Policy, server: Server) -> list[Server]:
    """Return the servers whose files ``server`` reads, if they were emitted."""
    folder = Path(policy.output) / CONF_DIRECTORY
    forms = [form for form in all_servers() if server.name in (form.name, form.host)]
    return [form for form in forms if os.path.exists(folder / form.files[0].name)]


def _is_emitted(policy: Policy, server: Server) -> bool:
    return bool(_emitted(policy, server))


def _checked(installation: Installation) -> ServerHealth:
    setup = installation.setup
    diagnostics = tuple(diagnostic for check in CHECKS for diagnostic in check(installation))
    return ServerHealth(installation.server.name, setup.account.name, setup.file, len(CHECKS), diagnostics)


# ---- the checks


def refused_configuration(installation: Installation) -> Iterator[Diagnostic]:
    """The server accepts its whole configuration, including the emitted one."""
    refusal = installation.setup.refusal
    if refusal is None:
        return
    missing = installation.examination.module_refused(refusal)
    if missing is not None:
        yield _module(installation, *missing)
    else:
        place = Location(installation.setup.file)
        yield diagnose("setup-invalid", place, server=installation.server.name, problem=refusal)


def missing_modules(installation: Installation) -> Iterator[Diagnostic]:
    """The server has the modules that the emitted directives need."""
    setup = installation.setup
    if setup.refusal is None and setup.modules:
        for module, fix in installation.examination.modules_missing(installation.policy, setup.modules):
            yield _module(installation, module, fix)


def _module(installation: Installation, module: str, fix: str) -> Diagnostic:
    place = Location(installation.setup.file)
    return diagnose("setup-module", place, server=installation.server.name, module=module, fix=fix)


def not_included(installation: Installation) -> Iterator[Diagnostic]:
    """The server reads the emitted files."""
    if installation.setup.refusal is not None or installation.has_pasted:
        return
    directives = installation.setup.directives
    included = {os.path.realpath(line.args[0]) for line in directives if is_include(line)}
    included |= {os.path.realpath(line.file) for line in directives}  # by a pattern: conf.d/*.conf
    server, texts = installation.rendered[0]
    place = server.paste.file(installation.policy) if server.paste is not None else installation.setup.file
    for emitted in server.files:
        file = installation.folder / emitted.name
        is_global = emitted.is_global(installation.policy)
        is_wanted = emitted.name in texts and (is_global or emitted.is_included(installation.policy))
        if is_wanted and os.path.realpath(file) not in included:
            effect = "the daemons have no status page" if is_global else "nothing is adapted"
            yield diagnose("setup-not-included", Location(str(place)), file=file, effect=effect)


def is_include(directive: Directive) -> bool:
    """Whether a directive includes a file, in Apache and nginx."""
    return directive.name in ("include", "includeoptional") and len(directive.args) == 1


def outdated_configuration(installation: Installation) -> Iterator[Diagnostic]:
    """The emitted files are what would be emitted now."""
    for server, texts in installation.rendered:
        for name, text in texts.items():
            file = installation.target(server, name)
            try:
                content = file.read_bytes()
            except OSError:
                continue
            if _is_outdated(installation, server, os.fsencode(text), content):
                yield diagnose("setup-outdated", Location(str(file)), server=server.name)


def _is_outdated(installation: Installation, server: Server, text: bytes, content: bytes) -> bool:
    if server.paste is None:
        return text != content
    parts = text.split(PART_END)[:-1]  # the site's own lines may be between them
    return installation.is_pasted(server) and not all(part in content for part in parts)


def unreadable_trees(installation: Installation) -> Iterator[Diagnostic]:
    """The server's user can read the trees and the state directory: an unreadable file is 403, without a fallback."""
    account, policy, reported = installation.setup.account, installation.policy, set[str]()
    times = [policy.times] if policy.is_strict else []
    for root in (policy.state, *times, *(f"{policy.output}/{level}" for level in policy.levels)):
        if not os.path.exists(root):
            yield diagnose("setup-missing", Location(root))
            continue
        for refusal in refusals(Path(root), account):
            is_ours = root == policy.state and os.path.basename(refusal.path).startswith("audit-")
            if refusal.path not in reported and not is_ours:  # nobody but daemons and people reads an audit
                reported.add(refusal.path)
                mode = f"{refusal.mode:04o}"
                place = Location(refusal.path)
                yield diagnose("setup-permissions", place, user=account.name, mode=mode, lacks=refusal.lacks)


def slow_reaction(installation: Installation) -> Iterator[Diagnostic]:
    """The server notices a changed flag within a second, and new visitors in a crowd."""
    return installation.examination.slow_reaction(installation)


def dropped_lines(installation: Installation) -> Iterator[Diagnostic]:
    """The server sends the site's own header fields with the trees, and keeps its limits."""
    return installation.examination.dropped_lines(installation)


def missing_types(installation: Installation) -> Iterator[Diagnostic]:
    """The server knows the media types of the files: browsers refuse style sheets and fonts of unknown type."""
    setup, examination = installation.setup, installation.examination
    known = examination.extensions(setup.directives) if setup.refusal is None else set()
    for extension, count in sorted(_extensions(installation).items()):
        if known and extension not in known:
            fix = examination.type_directive(media.BY_EXTENSION[extension], extension)
            yield diagnose("setup-type", Location(setup.file), extension=extension, count=count, fix=fix)


def _extensions(installation: Installation) -> Counter[str]:
    """Return the extensions of the site's files that have a media type, with the number of files of each.

    Image formats are those of files in the trees.
    """
    resources = installation.manifest.resources
    extensions = [PurePosixPath(path).suffix[1:].lower() for path in resources]
    if not installation.examination.sets_formats:
        levels = (files for resource in resources.values() for files in resource.files.values())
        extensions += [coding for files in levels for coding in files if coding in FORMATS]
    return Counter(extension for extension in extensions if extension in media.BY_EXTENSION)


def refused_override(installation: Installation) -> Iterator[Diagnostic]:
    """The server follows the rules of adaptc that were pasted into the site."""
    return installation.examination.refused_override(installation)


def bypassed_rules(installation: Installation) -> Iterator[Diagnostic]:
    """No rule of the server applies to originals, but not to their copies in the trees."""
    return installation.examination.bypassed_rules(installation)


# ---- what the server itself says about rules that a build has read
#
# A server with the same modules is started on loopback, with the docroot and its .htaccess files, without the trees.

MOST_ASKED = 20_000
# It cannot start without these; those that run programs, and other ways to share work, are left out
_NEEDED = frozenset({"mpm_event", "unixd", "authz_core", "authn_core", "dir", "mime", "alias", "log_config"})
_UNASKED = re.compile(r"mpm_\w+|cgid?|fcgid|php\d*|passenger|wsgi|suexec|core|so|http|watchdog")
_NEEDED_BY_OTHERS = ("proxy", "dav", "session", "dbd", "ldap", "cache", "xml2enc", "slotmem_shm", "socache_shmcb")


def met_rules(installation: Installation) -> Iterator[Diagnostic]:
    """Every rule that keeps files from being built is named, and the server refuses no file that was built."""
    if installation.server.name != "apache" or installation.setup.refusal is not None:
        return
    rules = _rules_of(installation)
    files = list(_ruled_files(installation, rules))
    if not files:
        return
    try:
        statuses = _statuses(installation, files)
    except UsageError as error:
        statuses = {}
        yield diagnose("setup-unasked", Location(installation.setup.file), reason=str(error).partition("\n")[0])
    yield from _named_rules(installation, files, rules, statuses)
    yield from _refused_files(installation, files, rules, statuses)
    if len(files) > MOST_ASKED:
        reason = f"{len(files) - MOST_ASKED:,} files are more than it is asked for"
        yield diagnose("setup-unasked", Location(installation.setup.file), reason=reason)


def _rules_of(installation: Installation) -> ServerRules:
    """Return all rules of the docroot: of .htaccess files in and above it, and of the server's configuration."""
    own = [line for line in installation.setup.directives if not installation.is_own(line.file)]
    own, docroot, prefix = expanded(own), installation.docroot, installation.policy.prefix
    configured = (*rules_above(docroot, own, prefix), *configured_rules(own, docroot, prefix))
    return ServerRules(DiskTree(docroot), installation.ignored_directives, prefix, configured, access_names(own))


def _ruled_files(installation: Installation, rules: ServerRules) -> Iterator[str]:
    """Yield the paths of files, but for hidden ones, that have a rule or an access file in a directory above them."""
    root = str(installation.docroot)
    below = set[str]()
    for folder, inner, names in os.walk(root):
        place = os.path.relpath(folder, root) if folder != root else ""
        visible = (name for name in inner if name[0] != ".")
        inner[:] = sorted(name for name in visible if os.path.join(folder, name) != installation.policy.output)
        if place.rpartition("/")[0] in below or any(_says_something(folder, name) for name in rules.names):
            below.add(place)
        for name in sorted(names):
            path = f"{place}/{name}" if place else name
            if name[0] != "." and (place in below or rules.rule_for(path) is not None):
                yield path


def _says_something(folder: str, name: str) -> bool:
    """Whether a directory has an access file that says more than what adaptc emitted."""
    try:
        text = Path(folder, name).read_text("utf-8", "surrogateescape")
    except OSError as error:
        return not isinstance(error, FileNotFoundError)
    return bool(without_own_block(text).strip())


def _statuses(installation: Installation, files: Sequence[str]) -> dict[str, int]:
    """Return the status of the server's answer for each file. Raises ``UsageError`` when it cannot be started."""
    docroot = installation.docroot
    account = account_of(unprivileged_user()) if os.geteuid() == 0 else None
    refusal = next(refusals(docroot, account), None) if account is not None else None
    if account is not None and refusal is not None:
        raise UsageError(f"{account.name}, as whom it is started, may not read {refusal.path}")
    with tempfile.TemporaryDirectory(prefix="adaptc-") as root:
        os.chmod(root, 0o755)
        with running(_as_installed(installation), _instance(installation, Path(root))) as server:
            asked = files[:MOST_ASKED]
            return dict(zip(asked, _answers(server.port, installation.policy.prefix, asked), strict=True))


def _instance(installation: Installation, root: Path) -> Instance:
    wanted = sorted(name for name in installation.setup.modules if not _UNASKED.fullmatch(name))
    modules = tuple(sorted(wanted, key=lambda name: name not in _NEEDED_BY_OTHERS))
    policy = installation.policy
    return Instance(root / "server", installation.docroot, policy.prefix, policy.indexes, (), modules=modules)


def _as_installed(installation: Installation) -> Server:
    """Return the server with the modules, and what .htaccess files may say, of the installed one."""
    launcher = launcher_of(installation.server)
    present, override = installation.setup.modules | _NEEDED, " ".join(_override(installation))

    def configuration(instance: Instance, port: int) -> str:
        text = launcher.configuration(instance, port).replace("AllowOverride All", f"AllowOverride {override}")
        loaded = re.compile(r"LoadModule (\w+)_module ")
        lines = ((loaded.match(line), line) for line in text.splitlines())
        return "".join(f"{line}\n" for match, line in lines if match is None or match[1] in present)

    return replace(installation.server, launcher=replace(launcher, configuration=configuration))


def _override(installation: Installation) -> tuple[str, ...]:
    """Return what .htaccess files in the docroot may say: the arguments in the narrowest <Directory> around it."""
    found: dict[int, tuple[str, ...]] = {}
    for line in installation.setup.directives:
        section = line.within[-1] if line.within else None
        if line.name == "allowoverride" and section is not None and section.name == "directory" and section.args:
            path = section.args[0].rstrip("/")
            if any(root == path or root.startswith(f"{path}/") for root in installation.docroots):
                found[len(path)] = line.args
    return found[max(found)] if found else ("All",)


def _answers(port: int, prefix: str, paths: Iterable[str]) -> Iterator[int]:
    """Yield the status of each path; 200 for a redirect to the same path, as to HTTPS, 0 for no answer."""
    with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        for path in paths:
            url = quote(os.fsencode(f"{prefix}/{path}"))
            try:
                connection.request("HEAD", url)
                response = connection.getresponse()
                response.read()
            except (HTTPException, OSError):
                connection.close()
                yield 0
                continue
            same = 300 < response.status < 400 and urlsplit(response.getheader("Location", "")).path == url
            yield 200 if same else response.status


def _named_rules(
    installation: Installation, files: Sequence[str], rules: ServerRules, statuses: Mapping[str, int]
) -> Iterator[Diagnostic]:
    """Yield each rule that keeps files from being built, with what the server answers for these."""
    found: dict[ServerRule, list[str]] = {}
    for path in files:
        rule = rules.rule_for(path) if path not in installation.manifest.resources else None
        if rule is not None:
            found.setdefault(rule, []).append(path)
    for rule, paths in found.items():
        counts = Counter(statuses[path] for path in paths if path in statuses)
        answers = ", ".join(f"{status or 'nothing'} ({count:,})" for status, count in sorted(counts.items()))
        kind = "setup-rule-unknown" if rule.is_unknown else "setup-rule"
        place = Location(os.path.join(installation.docroot, rule.directive.file), rule.directive.line)
        yield diagnose(kind, place, rule=rule.text, count=len(paths), answers=answers or "what it was not asked")


def _refused_files(
    installation: Installation, files: Sequence[str], rules: ServerRules, statuses: Mapping[str, int]
) -> Iterator[Diagnostic]:
    """Yield where the server refuses files that were built, though no rule is known that applies to them."""
    refused: dict[tuple[str, int], list[str]] = {}
    for path in files:
        status = statuses.get(path, 200)
        is_served = path in installation.manifest.resources and not installation.policy.excludes(f"/{path}")
        if is_served and status not in (0, 200) and rules.rule_for(path) is None:
            refused.setdefault((path.rpartition("/")[0], status), []).append(path)
    for (directory, status), paths in refused.items():
        place = Location(os.path.join(installation.docroot, directory))
        yield diagnose("setup-refused", place, status=status, path=paths[0], count=len(paths))


def coarse_times(installation: Installation) -> Iterator[Diagnostic]:
    """The file system keeps times to the second: entity tags are made from them."""
    time = stored_time(Path(installation.policy.output))
    if time != MOMENT:
        yield diagnose("setup-timestamps", Location(installation.policy.output), wrote=MOMENT, read=time)


def stored_time(folder: Path, moment: int = MOMENT) -> int:
    """Set the time of a file in ``folder`` and return the one that it has then, both in seconds. Raises ``OSError``."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".adaptc-") as file:
        os.utime(file.name, (moment, moment))
        return int(os.stat(file.name).st_mtime)


CHECKS: tuple[Check, ...] = (
    refused_configuration,
    missing_modules,
    not_included,
    outdated_configuration,
    unreadable_trees,
    slow_reaction,
    dropped_lines,
    missing_types,
    refused_override,
    bypassed_rules,
    met_rules,
    coarse_times,
)
