"""nginx: maps for http { }, locations for server { }, and lines for the site's own locations.

nginx reads ``\\\\``, ``\\"``, ``\\n``, ``\\r`` and ``\\t`` inside quotes, and variables in most arguments. It has no
escape for a dollar: a ``geo`` variable, whose values are plain texts, holds one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import Diagnostic, Location, diagnose
from adaptc.core.media import BY_EXTENSION
from adaptc.core.model import DICTIONARY_TOKEN, IDENTITY
from adaptc.core.urls import hashed_path, plain_path
from adaptc.formats.directives import Directive, Section
from adaptc.serve.accounts import account_of
from adaptc.serve.launch import program_of, run_quietly, unprivileged_user
from adaptc.serve.patterns import asks, held_directories, literal
from adaptc.serve.policy import CONF_DIRECTORY, OFF, REJECT, Policy
from adaptc.serve.server import (
    EmittedFile,
    Examination,
    Filter,
    Installation,
    Instance,
    Launcher,
    Server,
    Setup,
    always,
)
from adaptc.serve.state_directory import BUCKETS

# ---- what is emitted

ORDINALS = ("second", "third")
# The combined log format, followed by: the time of the answer (nginx knows no other), and how long it took
_LOG = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent "$http_referer" "$http_user_agent"'
    " at=$msec took=${request_time}s"
)


def _variables(policy: Policy) -> dict[str, Any]:
    steps = tuple(fallbacks(policy))
    plain = [f"${policy.name}_first", *(f"${policy.name}_{step}" for step, _ in steps), IDENTITY]
    chain = [f"${policy.name}_best", *plain] if policy.uses_dictionaries else plain
    prefix = literal(policy.prefix)
    level = f"{policy.name}_{'sent_level' if policy.serve.nginx_page_rate else 'level'}"
    return {
        "buckets": list(BUCKETS),
        "asked": asks(policy.trees_asked, policy.codings, f"{policy.name}_word"),
        "excluded": "|".join(f"^{prefix}{literal(path)}(?:/|$)" for path in policy.excluded),
        "steps": steps,
        "next_codings": sorted({name for _, rows in steps for _, name in rows}),
        "chain": chain,
        "vary": f"${policy.name}_vary" if policy.formats else argument(policy.vary),
        "own_chain": plain,
        "held_directories": list(_held_directories(policy)),
        "version_patterns": list(_version_patterns(policy)),
        "offered_is_held": r"^:|^([A-Za-z0-9]{43})::\1=:$",  # nothing is offered, or what is held
        "places": list(places(policy, chain)),
        "state_text": _without_dollars(policy.state, policy.dollar),
        "root_text": _without_dollars(policy.output, policy.dollar),
        "docroot_text": _without_dollars(policy.docroot, policy.dollar),
        "times_text": _without_dollars(policy.times, policy.dollar),
        "script": _script(policy) if policy.is_strict else "",
        "level": level,
        "marked": [policy.levels[-1], *([REJECT] if policy.serve.reject else []), *policy.levels[-2::-1]],
        "unpaced": f" set ${policy.name}_lowest off;" if policy.serve.nginx_page_rate else "",
        "dear": [OFF, *(name for name in policy.levels if name not in policy.degraded)],
        "tree": f"{policy.name}_tree" if policy.serve.classes else level,
        "class_variable": _class_variable(policy),
        "log_format": _log_format(policy),
    }


def _held_directories(policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield patterns of Available-Dictionary, with named groups, and the directory of a tree that each stands for."""
    for number, (pattern, groups) in enumerate(held_directories()):
        names = [f"{policy.name}_held{number}{group}" for group in range(groups)]
        named = pattern
        for name in names:
            named = named.replace("([", f"(?<{name}>[", 1)
        yield named, f"{DICTIONARY_TOKEN}-" + "_".join(f"${{{name}}}" for name in names)


def _version_patterns(policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield patterns of paths, and the patterns of the paths of their later versions."""
    head, tail, whole = (f"{policy.name}_{part}" for part in ("head", "tail", "whole"))
    yield hashed_path(f"?<{head}>", f"?<{tail}>"), f"${{{head}}}*${{{tail}}}"
    yield plain_path(f"?<{whole}>"), f"${{{whole}}}"


def _script(policy: Policy) -> str:
    """Return the path of the script, which njs puts between single quotes. Raises ``ValueError`` for one of them."""
    path = f"{policy.output}/{CONF_DIRECTORY}/nginx-fresh.js"
    if match := re.search(r"['\\\n\r]", path):
        raise ValueError(f"{match[0]!r}, which js_import cannot express")
    return path


def places(policy: Policy, chain: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the directories to try before ``id``, in order: for images the format, for other files the coding.

    Without formats there is no difference, and nothing is yielded.
    """
    count = max(len(chain) - 1, len(policy.formats)) if policy.formats else 0
    for number in range(count):
        yield (
            policy.formats[number] if number < len(policy.formats) else IDENTITY,
            chain[min(number, len(chain) - 1)],
        )


def fallbacks(policy: Policy) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the steps after the coding that a client prefers: (name, rows of that coding and the next).

    A step that no file needs is left out. Mostly one is needed, for Zstandard alone: a file without Brotli has nothing.
    """
    for number, step in enumerate(ORDINALS):
        rows = [(coding, follow[number]) for coding, follow in policy.follow.items() if number < len(follow)]
        if rows:
            yield step, rows


def _class_variable(policy: Policy) -> str:
    return f"{policy.name}_{'class' if policy.serve.hints else 'known'}"


def _log_format(policy: Policy) -> str:
    name = policy.name
    shown = f"${_class_variable(policy)}" if policy.serve.classes else "-"
    bucket = f" bucket=${name}_bucket" if policy.serve.buckets else ""
    return f"log_format {name} '{_LOG} served=${name}_served class={shown}{bucket}';"


def argument(text: object, dollar: str = "") -> str:
    """Return ``text`` as a quoted argument of a directive; ``dollar`` is the variable that holds a dollar.

    Without ``dollar`` the text may contain variables, or is an argument that has none.
    """
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f'"{_without_dollars(escaped, dollar)}"'


def _without_dollars(text: str, dollar: str) -> str:
    """Replace each dollar by the variable that holds one."""
    return text.replace("$", f"${{{dollar}}}") if dollar else text


def _filters(policy: Policy) -> Mapping[str, Filter]:
    return {"arg": argument, "path": partial(argument, dollar=policy.dollar)}


# ---- how it is started

MODULE_FOLDERS = ("/usr/lib/nginx/modules", "/usr/lib64/nginx/modules", "/etc/nginx/modules")
SYSTEM_TYPES = Path("/etc/nginx/mime.types")
DOLLAR = "adaptc_verify_dollar"  # nginx has no other way to write one


def _configuration(instance: Instance, port: int) -> str:
    root, q = instance.root, argument
    temporary = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    http = [file for file in instance.includes if file.name == "nginx-http.conf"]
    server = [file for file in instance.includes if file.name == "nginx-server.conf"]
    lines = [
        *(f"load_module {q(file)};" for file in _module_files(instance.modules)),
        *([f"user {unprivileged_user()};"] if os.geteuid() == 0 else []),
        f"pid {q(root / 'pid')};",
        f"error_log {q(root / 'error.log')};",
        "worker_processes 1;",
        "events { worker_connections 256; }",
        "http {",
        f'geo ${DOLLAR} {{ default "$"; }}',
        f"include {q(_media_types(root))};",
        *(f"{name}_temp_path {q(root / name)};" for name in temporary),
        "access_log off; keepalive_requests 100000000; server_tokens off;",
        *(f"include {q(file)};" for file in http),
        "server {",
        *_listen(instance, port),
        f"index {' '.join(map(q, instance.index)) or 'index.html'};",
        *_root(instance),
        *(f"add_header {name} {q(value)} always;" for name, value in instance.headers),
        *(f"include {q(file)};" for file in server),
        *([f"access_log {q(root / 'access.log')} {instance.log_format};"] if instance.log_format else []),
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _listen(instance: Instance, port: int) -> Iterator[str]:
    if instance.certificate is None:
        yield f"listen 127.0.0.1:{port};"
        return
    yield f"listen 127.0.0.1:{port} ssl http2;"
    file = argument(instance.certificate, DOLLAR)
    yield f"ssl_certificate {file}; ssl_certificate_key {file};"


def _module_files(names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files of modules; one without a file may be built in."""
    for name in names:
        files = (Path(folder) / f"{name}.so" for folder in MODULE_FOLDERS)
        yield from [file for file in files if file.exists()][:1]


def _root(instance: Instance) -> Iterator[str]:
    """Yield the root of the originals; below a prefix a link leads to them (``alias`` does not work with try_files)."""
    if not instance.prefix:
        yield f"root {argument(instance.docroot, DOLLAR)};"
        return
    link = instance.root / "published" / instance.prefix.strip("/")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(instance.docroot.resolve())
    yield f"root {argument(instance.root / 'published', DOLLAR)};"


def _media_types(root: Path) -> Path:
    """Return nginx's own list of media types; where it has none, one of ours."""
    if SYSTEM_TYPES.exists():
        return SYSTEM_TYPES
    file = root / "nginx-types.conf"
    rows = "".join(f"{media_type} {suffix};\n" for suffix, media_type in BY_EXTENSION.items())
    file.write_text(f"types {{\n{rows}}}\n")
    return file


def _command(program: str, root: Path, file: Path, _port: int) -> list[str]:
    paths = ["-p", os.fspath(root), "-c", os.fspath(file), "-e", os.fspath(root / "error.log")]
    return [program, *paths, "-g", "daemon off;"]


def caches_tests(policy: Policy) -> bool:
    """Whether the emitted configuration remembers for a second which files of the trees exist."""
    return policy.serve.nginx_file_cache and (policy.serve.buckets or policy.serve.classes)


# ---- how it is examined: by its own switches (nginx(8): -T, -V)

NJS = ("ngx_http_js_module", "install it (Debian: libnginx-mod-http-js) and load_module modules/ngx_http_js_module.so")
REAL_IP = ("http_realip_module", "install an nginx that was built with it, such as Debian's")
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "ms": 0}  # of nginx's times
PATIENCE = 1  # seconds after which a new flag or level should have effect
DEFAULT_VALID = "60s"  # open_file_cache_valid
_FILE = re.compile(r"^# configuration file (.+):$", re.MULTILINE)
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<mark>[;{}])|"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\.|[^'\\])*)'"""
    r"""|(?P<word>(?:\\.|\$\{\w*\}|[^\s;{}\\])+)|(?P<rest>.)""",
    re.DOTALL,
)


def inspect(file: Path | None, user: str | None) -> Setup:
    """Return the setup of nginx; ``file`` is its main file, None for the usual one. Raises ``UsageError``."""
    program = program_of(SERVER)
    dump = run_quietly([program, "-T", *(["-c", str(file.absolute())] if file else [])])
    build = run_quietly([program, "-V"]).stderr
    usual = re.search(r"--conf-path=(\S+)", build)
    directives = tuple(_dumped_directives(dump.stdout))
    configured = [line.args[0] for line in directives if line.name == "user" and line.args]
    compiled = re.search(r"--user=(\S+)", build)
    names = [*([user] if user else []), *configured, *([compiled[1]] if compiled else []), unprivileged_user()]
    return Setup(
        str(file) if file else usual[1] if usual else "nginx.conf",
        None if dump.returncode == 0 else _error_message(dump.stderr),
        account_of(names[0]),
        frozenset(re.findall(r"--with-(\w+_module)", build)),
        directives,
    )


def _error_message(output: str) -> str:
    """Return the lines of nginx that report why it stops."""
    stopping = re.findall(r"\[(?:emerg|alert)\](?: \d+#\d+:)? (.+)", output)
    return "; ".join(dict.fromkeys(stopping)) or " ".join(output.split())


def _dumped_directives(dump: str) -> Iterator[Directive]:
    """Yield the directives of a dump, which has each file once, after a line with its name."""
    _, *parts = _FILE.split(dump)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        yield from nginx_directives(text, name)


def nginx_directives(text: str, file: str) -> Iterator[Directive]:
    """Yield the directives of a file; the head of a block is none."""
    within: list[Section] = []
    words: list[str] = []
    begun = line = 1
    for token in _TOKEN.finditer(text):
        mark = token["mark"]
        if mark is None and token["space"] is None:
            begun = begun if words else line
            words.append(_word(token))
        elif mark == ";" and words:
            yield Directive(words[0], tuple(words[1:]), file, begun, tuple(within))
        elif mark == "{" and words:
            within.append(Section(words[0], tuple(words[1:]), begun))
        elif mark == "}" and within:
            within.pop()
        if mark is not None:
            words = []
        line += token[0].count("\n")


def _word(token: re.Match[str]) -> str:
    quoted = token["double"] if token["double"] is not None else token["single"]
    return token[0] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)


def _module_refused(refusal: str) -> tuple[str, str] | None:
    return NJS if 'unknown directive "js_' in refusal else None


def _modules_missing(policy: Policy, present: frozenset[str]) -> Iterator[tuple[str, str]]:
    if policy.serve.trusted_proxies and REAL_IP[0] not in present:
        yield REAL_IP


def _extensions(directives: Sequence[Directive]) -> set[str]:
    rows = (line for line in directives if line.within and line.within[-1].name == "types")
    return {extension for row in rows for extension in row.args}


def _type_directive(media_type: str, extension: str) -> str:
    return f"{media_type} {extension};"


def _slow_reaction(installation: Installation) -> Iterator[Diagnostic]:
    """Yield the site's own cache of tests of files, if it keeps them for longer than a second; then: one by one.

    An event loop that accepts one connection a turn lets a crowd wait for all requests of those who came before.
    """
    directives = installation.setup.directives
    accepts_all = any(line.name == "multi_accept" and line.args == ("on",) for line in directives)
    if installation.policy.serve.buckets and directives and not accepts_all:
        yield diagnose("setup-accepts", Location(installation.setup.file))
    own = [line for line in installation.setup.directives if not installation.is_own(line.file)]
    caches = [line for line in own if line.name == "open_file_cache" and line.args != ("off",)]
    if not caches:
        return
    valid = [line.args[0] for line in own if line.name == "open_file_cache_valid" and line.args] or [DEFAULT_VALID]
    slowest = max(valid, key=_seconds)
    if _seconds(slowest) > PATIENCE:
        yield diagnose("setup-file-cache", Location(caches[0].file, caches[0].line), valid=slowest)


def _seconds(time: str) -> int:
    """Return a time of nginx in whole seconds."""
    return sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\d+)(ms|[smhd]?)", time))


def _dropped_lines(installation: Installation) -> Iterator[Diagnostic]:
    yield from _dropped_headers(installation)
    yield from _dropped_limits(installation)


def _dropped_headers(installation: Installation) -> Iterator[Diagnostic]:
    """Yield the site's add_header lines that have no effect: nginx drops them in servers and locations with others.

    Those of adaptc are in the server block, or in each location that includes them (``serve.nginx_location``).
    """
    policy, own = installation.policy, [line for line in _own(installation, "add_header") if line.args]
    if policy.serve.nginx_headers is not None:
        return
    for place in _places_of_ours(installation):
        if any(line.within == place.within and line.file == place.file for line in own):
            continue  # nginx drops those of outer blocks without adaptc, too
        for line in own:
            is_repeated = line.args in policy.hidden_fields
            if not is_repeated and line.within != place.within and _applies_to(line, place):
                yield diagnose("setup-headers", Location(line.file, line.line), name=line.args[0])


def _dropped_limits(installation: Installation) -> Iterator[Diagnostic]:
    """Yield the site's limit_req lines that have no effect in locations with that of ``serve.nginx_page_rate``."""
    places = _places_of_ours(installation) if installation.policy.serve.nginx_page_rate else ()
    for line in _own(installation, "limit_req"):
        if any(_applies_to(line, place) for place in places):
            yield diagnose("setup-limits", Location(line.file, line.line))


def _own(installation: Installation, name: str) -> list[Directive]:
    directives = installation.setup.directives
    return [line for line in directives if line.name == name and not installation.is_own(line.file)]


def _places_of_ours(installation: Installation) -> list[Directive]:
    part = "nginx-server.conf" if installation.policy.serve.nginx_location else "nginx-location.conf"
    includes = (line for line in installation.setup.directives if line.name == "include" and len(line.args) == 1)
    return [line for line in includes if line.args[0].endswith(part)]


def _applies_to(directive: Directive, ours: Directive) -> bool:
    """Whether a directive would apply to our lines: in the same server block, or in the http block."""
    if directive.file == ours.file:
        return directive.within == ours.within[: len(directive.within)]
    return [section.name for section in directive.within] in ([], ["http"])


SERVER = Server(
    name="nginx",
    title="nginx",
    files=(
        EmittedFile("nginx-http.conf", is_included=always),
        EmittedFile("nginx-server.conf", is_included=always),
        EmittedFile("nginx-location.conf", is_included=lambda policy: not policy.serve.nginx_location),
        EmittedFile("nginx-fresh.js", is_needed=lambda policy: policy.is_strict),
    ),
    variables=_variables,
    filters=_filters,
    programs=("nginx",),
    packages="nginx",
    launcher=Launcher(
        configuration=_configuration,
        command=_command,
        modules=lambda policy: (NJS[0],) if policy.is_strict else (),
        settling=lambda policy: 1.2 if caches_tests(policy) else 0.0,
        has_plain_ranges=True,
    ),
    examination=Examination(
        inspect=inspect,
        module_refused=_module_refused,
        modules_missing=_modules_missing,
        extensions=_extensions,
        type_directive=_type_directive,
        slow_reaction=_slow_reaction,
        dropped_lines=_dropped_lines,
    ),
)
