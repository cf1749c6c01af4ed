"""The checks, each a function that yields what it finds: a diagnostic that says what is wrong and how it is mended."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from adaptc.core import media
from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.model import FORMATS
from adaptc.serve.apache import modules
from adaptc.serve.doctor.access import access_rules
from adaptc.serve.doctor.directives import Directive
from adaptc.serve.doctor.patient import HTACCESS, INCLUDED, WITHOUT_LOCATION, Patient
from adaptc.serve.doctor.rights import refusals
from adaptc.serve.doctor.times import MOMENT, kept_time

Check = Callable[[Patient], Iterator[Diagnostic]]

# Which module of Apache knows a directive that adaptc writes.
MODULES_OF = {
    "RewriteEngine": "rewrite",
    "Header": "headers",
    "RequestHeader": "headers",
    "RemoteIPHeader": "remoteip",
    "LuaScope": "lua",
}
NJS = ("ngx_http_js_module", "install it (Debian: libnginx-mod-http-js) and load_module modules/ngx_http_js_module.so")
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "ms": 0}  # of nginx's times
PATIENCE = 1  # seconds that a flag or level may take to be seen
DEFAULT_VALID = "60s"  # open_file_cache_valid


def refused_configuration(patient: Patient) -> Iterator[Diagnostic]:
    """The server takes its whole configuration, with what is emitted in it."""
    refusal = patient.setup.refusal
    if refusal is None:
        return
    command = re.search(r"Invalid command '(\w+)'", refusal)
    if command and command[1] in MODULES_OF:
        yield _module(patient, MODULES_OF[command[1]], f"a2enmod {MODULES_OF[command[1]]}")
    elif 'unknown directive "js_' in refusal:
        yield _module(patient, *NJS)
    else:
        yield diagnose("setup-invalid", Location(patient.setup.file), server=patient.setup.server, problem=refusal)


def missing_modules(patient: Patient) -> Iterator[Diagnostic]:
    """Modules that the emitted directives need."""
    there = patient.setup.modules
    if patient.setup.refusal is not None or not there:
        return
    if patient.setup.server == "nginx":
        if patient.policy.serve.trusted_proxies and "http_realip_module" not in there:
            yield _module(patient, "http_realip_module", "install an nginx that was built with it, such as Debian's")
        return
    for name in modules(patient.policy):
        if name not in there:
            yield _module(patient, f"mod_{name}", f"a2enmod {name}, or LoadModule {name}_module")


def _module(patient: Patient, module: str, mend: str) -> Diagnostic:
    place = Location(patient.setup.file)
    return diagnose("setup-module", place, server=patient.setup.server, module=module, mend=mend)


def not_included(patient: Patient) -> Iterator[Diagnostic]:
    """The server reads the emitted files."""
    if patient.setup.refusal is not None or patient.has_htaccess:
        return
    named = {os.path.realpath(one.args[0]) for one in patient.setup.directives if _is_include(one)}
    for name in _wanted(patient):
        file = patient.folder / name
        place = f"{patient.policy.docroot}/.htaccess" if name == HTACCESS else patient.setup.file
        if os.path.realpath(file) not in named:
            yield diagnose("setup-not-included", Location(place), file=file)


def _wanted(patient: Patient) -> Iterator[str]:
    """Yield the emitted files that must be included; .htaccess is for those who have nothing else."""
    found = [name for name in INCLUDED[patient.setup.server] if name in patient.rendered]
    yield from found or [HTACCESS]
    if patient.setup.server == "nginx" and not patient.policy.serve.nginx_location:
        yield WITHOUT_LOCATION


def _is_include(one: Directive) -> bool:
    return one.name in ("include", "includeoptional") and len(one.args) == 1


def outdated_configuration(patient: Patient) -> Iterator[Diagnostic]:
    """What was emitted is what would be emitted now."""
    for name, text in patient.rendered.items():
        file = patient.docroot / ".htaccess" if name == HTACCESS else patient.folder / name
        try:
            written = file.read_bytes()
        except OSError:
            continue
        is_equal = os.fsencode(text) in written if name == HTACCESS else os.fsencode(text) == written
        if not is_equal and (name != HTACCESS or patient.has_htaccess):
            yield diagnose(
                "setup-outdated", Location(str(file)), server=HTACCESS if name == HTACCESS else patient.setup.server
            )


def unreadable_trees(patient: Patient) -> Iterator[Diagnostic]:
    """The server's user can read the trees and the state directory; what it cannot read is 403, no fallback."""
    account, seen = patient.setup.account, set[str]()
    times = [patient.policy.times] if patient.policy.is_strict else []
    for root in (patient.policy.state, *times, *(f"{patient.policy.output}/{one}" for one in patient.policy.levels)):
        if not os.path.exists(root):
            yield diagnose("setup-missing", Location(root))
            continue
        for one in refusals(Path(root), account):
            if one.path not in seen:
                seen.add(one.path)
                yield diagnose(
                    "setup-permissions", Location(one.path), user=account.name, mode=f"{one.mode:04o}", lacks=one.lacks
                )


def slow_file_cache(patient: Patient) -> Iterator[Diagnostic]:
    """nginx does not remember its tests of files for longer than a second."""
    own = [one for one in patient.setup.directives if not patient.is_own(one.file)]
    caches = [one for one in own if one.name == "open_file_cache" and one.args != ("off",)]
    uses_own = patient.policy.serve.nginx_file_cache and (patient.policy.serve.buckets or patient.policy.serve.classes)
    if patient.setup.server != "nginx" or not caches or uses_own:
        return
    said = [one.args[0] for one in own if one.name == "open_file_cache_valid" and one.args] or [DEFAULT_VALID]
    slowest = max(said, key=_seconds)
    if _seconds(slowest) > PATIENCE:
        yield diagnose("setup-file-cache", Location(caches[0].file, caches[0].line), valid=slowest)


def _seconds(time: str) -> int:
    """Return a time of nginx in whole seconds."""
    return sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\d+)(ms|[smhd]?)", time))


def dropped_headers(patient: Patient) -> Iterator[Diagnostic]:
    """nginx drops the server's add_header lines in locations that have their own, as those of adaptc do."""
    if patient.setup.server != "nginx" or patient.policy.serve.nginx_headers is not None:
        return
    ours = next(
        (one for one in patient.setup.directives if _is_include(one) and one.args[0].endswith("nginx-server.conf")),
        None,
    )
    for one in patient.setup.directives if ours is not None else ():
        if one.name == "add_header" and one.args and not patient.is_own(one.file) and _is_around(one, ours):
            yield diagnose("setup-headers", Location(one.file, one.line), name=one.args[0])


def _is_around(one: Directive, ours: Directive | None) -> bool:
    """Whether a directive would hold where ours are: in the same server block, or in the http block."""
    if ours is None:
        return False
    if one.file == ours.file:
        return one.within == ours.within[: len(one.within)]
    return [section.name for section in one.within] in ([], ["http"])


def missing_types(patient: Patient) -> Iterator[Diagnostic]:
    """The server knows the media types of what is published: a browser refuses sheets and fonts of unknown type."""
    if patient.setup.refusal is not None:
        return
    known = _known_extensions(patient)
    for extension, count in sorted(_extensions(patient).items()):
        if known and extension not in known:
            media_type = media.BY_EXTENSION[extension]
            mend = (
                f"{media_type} {extension};"
                if patient.setup.server == "nginx"
                else f"AddType {media_type} .{extension}"
            )
            yield diagnose("setup-type", Location(patient.setup.file), extension=extension, count=count, mend=mend)


def _extensions(patient: Patient) -> Counter[str]:
    """Return the extensions of the site's files that have a media type of their own, with how many files have each.

    Image formats are those of files in the trees.
    """
    resources = patient.manifest.resources
    found = [PurePosixPath(path).suffix[1:].lower() for path in resources]
    if patient.setup.server == "nginx":  # Apache is told the types
        found += [
            one for each in resources.values() for files in each.files.values() for one in files if one in FORMATS
        ]
    return Counter(one for one in found if one in media.BY_EXTENSION)


def _known_extensions(patient: Patient) -> set[str]:
    directives = patient.setup.directives
    if patient.setup.server == "nginx":
        return {
            extension for one in directives if one.within and one.within[-1].name == "types" for extension in one.args
        }
    added = {
        arg.lstrip(".").lower() for one in directives if one.name in ("addtype", "addhandler") for arg in one.args[1:]
    }
    lists = [one.args[0] for one in directives if one.name == "typesconfig" and one.args][-1:]
    return added | {extension for file in lists for extension in _listed(Path(file))}


def _listed(file: Path) -> Iterator[str]:
    """Yield the extensions of a list of media types; none when it cannot be read."""
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        if not line.startswith("#"):
            yield from line.split()[1:]


def refused_override(patient: Patient) -> Iterator[Diagnostic]:
    """The server obeys the rules of adaptc in the docroot's .htaccess."""
    if not patient.has_htaccess:
        return
    allowed = _inherited(patient, "allowoverride") or ("none",)
    if not {"all", "fileinfo"} & {one.lower() for one in allowed}:
        yield _override(patient, "AllowOverride FileInfo")
    options = _inherited(patient, "options") or ("followsymlinks",)
    if not {"all", "followsymlinks", "+followsymlinks"} & {one.lower() for one in options}:
        yield _override(patient, "Options FollowSymLinks")


def _override(patient: Patient, mend: str) -> Diagnostic:
    return diagnose(
        "setup-override", Location(f"{patient.policy.docroot}/.htaccess"), mend=mend, docroot=patient.policy.docroot
    )


def _inherited(patient: Patient, name: str) -> tuple[str, ...] | None:
    """Return the arguments that a directive has in the docroot: the narrowest <Directory> around it says."""
    found: dict[int, tuple[str, ...]] = {}
    for one in patient.setup.directives:
        section = one.within[-1] if one.within else None
        if one.name == name and section is not None and section.name == "directory" and section.args:
            path = section.args[0].rstrip("/")
            if any(root == path or root.startswith(f"{path}/") for root in patient.docroots):
                found[len(path)] = one.args
    return found[max(found)] if found else None


def bypassed_access_rules(patient: Patient) -> Iterator[Diagnostic]:
    """Access rules by directory do not hold for the trees."""
    if patient.setup.server == "apache":
        for rule in access_rules(patient):
            yield diagnose("setup-access", Location(rule.file, rule.line), rule=rule.text, below=rule.below or "/")


def coarse_times(patient: Patient) -> Iterator[Diagnostic]:
    """The file system keeps times to the second: entity tags are made from them."""
    kept = kept_time(Path(patient.policy.output))
    if kept != MOMENT:
        yield diagnose("setup-timestamps", Location(patient.policy.output), wrote=MOMENT, read=kept)


CHECKS: tuple[Check, ...] = (
    refused_configuration,
    missing_modules,
    not_included,
    outdated_configuration,
    unreadable_trees,
    slow_file_cache,
    dropped_headers,
    missing_types,
    refused_override,
    bypassed_access_rules,
    coarse_times,
)
