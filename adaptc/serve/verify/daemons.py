"""Real servers on loopback, each in a directory of its own, with one site and what ``adaptc emit`` wrote for it."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adaptc.core.diagnostics import UsageError
from adaptc.core.media import BY_EXTENSION
from adaptc.serve import quoting

SEARCH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"])
PROGRAMS = {"apache": ("apache2", "httpd"), "nginx": ("nginx",)}
PACKAGES = {"apache": "apache2 (Debian), httpd (Fedora, Homebrew)", "nginx": "nginx"}
MODULE_FOLDERS = (
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/libexec/apache2",
)
NGINX_MODULE_FOLDERS = ("/usr/lib/nginx/modules", "/usr/lib64/nginx/modules", "/etc/nginx/modules")
# Beside those that adaptc needs, what .htaccess files of sites ask for most.
MODULES = (
    *("mpm_event", "authn_core", "authn_file", "authz_core", "authz_host", "authz_user", "auth_basic", "access_compat"),
    *("alias", "dir", "env", "expires", "headers", "mime", "remoteip", "rewrite", "setenvif", "unixd", "log_config"),
)
UNPRIVILEGED = ("www-data", "apache", "http", "nginx", "_www", "nobody")
DOLLAR = "adaptc_verify_dollar"  # nginx has no other way to write one
STARTING = 20.0  # seconds that a server may take


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server runs: its own directory, the docroot, the URL path of the docroot, and files to include.

    ``headers`` are those that the site itself sends; ``modules`` those of the server that must be loaded beside
    the usual ones, as far as they are not a part of it.
    """

    root: Path
    docroot: Path
    prefix: str
    index: tuple[str, ...]
    includes: tuple[Path, ...]
    headers: tuple[tuple[str, str], ...] = ()
    modules: tuple[str, ...] = ()


def program_of(server: str) -> str:
    """Return the path of a server's program. Raises ``UsageError`` when it is not installed."""
    found = next(filter(None, (shutil.which(name, path=SEARCH) for name in PROGRAMS[server])), None)
    if found is None:
        raise UsageError(f"{server} is not installed; packages: {PACKAGES[server]}")
    return found


def module_folder() -> Path:
    """Return where Apache's modules are. Raises ``UsageError`` when they are nowhere usual."""
    found = next((Path(one) for one in MODULE_FOLDERS if Path(one).is_dir()), None)
    if found is None:
        raise UsageError(f"Apache's modules are in none of {', '.join(MODULE_FOLDERS)}")
    return found


@contextlib.contextmanager
def running(server: str, place: Place) -> Iterator[int]:
    """Run ``server`` and give its port. Raises ``UsageError``, with the server's own words, when it does not start."""
    place.root.mkdir(parents=True, exist_ok=True)
    port, file = free_port(), place.root / f"{server}.conf"
    program = program_of(server)
    file.write_bytes(os.fsencode(_CONFIGURATIONS[server](place, port)))
    command = _COMMANDS[server](program, place.root, file)
    with (place.root / "out.log").open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as started:
        try:
            _await(server, started, port, place.root)
            yield port
        finally:
            started.send_signal(signal.SIGTERM)
            started.wait(STARTING)


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _await(server: str, started: subprocess.Popen[bytes], port: int, root: Path) -> None:
    end = time.monotonic() + STARTING
    while started.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    said = "".join(file.read_text("utf-8", "replace") for file in sorted(root.glob("*.log")))
    raise UsageError(f"{server} did not start: {said.strip() or 'it said nothing'}")


# ---- Apache


def _apache(place: Place, port: int) -> str:
    folder = module_folder()
    there = [name for name in (*MODULES, *place.modules) if (folder / f"mod_{name}.so").exists()]
    q = quoting.apache
    lines = [
        *(f"LoadModule {name}_module {q(str(folder / f'mod_{name}.so'))}" for name in there),
        *(f"{name} {q(str(value))}" for name, value in _apache_settings(place, port)),
        *([f"User {unprivileged()}"] if os.geteuid() == 0 else []),
        "<Directory />\nRequire all denied\nAllowOverride None\n</Directory>",
        f"<Directory {q(str(place.docroot))}>",
        "Require all granted\nAllowOverride All\nOptions FollowSymLinks\n</Directory>",
        f"<VirtualHost *:{port}>",
        f"DocumentRoot {q(str(place.docroot))}",
        f"DirectoryIndex {' '.join(map(q, place.index)) or 'disabled'}",
        *([f"Alias {q(place.prefix)} {q(str(place.docroot))}"] if place.prefix else []),
        *(f"Header always set {name} {q(value)}" for name, value in place.headers),
        *(f"Include {q(str(file))}" for file in place.includes),
        "</VirtualHost>",
    ]
    return "\n".join(lines) + "\n"


def _apache_settings(place: Place, port: int) -> Iterator[tuple[str, object]]:
    root = place.root
    yield from (("ServerRoot", root), ("PidFile", root / "pid"), ("ErrorLog", root / "error.log"))
    yield from (("ServerName", "localhost"), ("Listen", f"127.0.0.1:{port}"), ("TypesConfig", mime_types(root)))
    # one process is enough for a client that pipelines, and races show in threads as well
    yield from (("StartServers", 1), ("ThreadsPerChild", 16), ("MaxRequestWorkers", 16), ("MaxSpareThreads", 16))
    yield from (("MinSpareThreads", 1), ("ServerLimit", 1), ("MaxKeepAliveRequests", 0), ("KeepAliveTimeout", 30))


def unprivileged() -> str:
    """Return a user without rights: Apache refuses to serve as root. Raises ``UsageError`` when there is none."""
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise UsageError(f"this system has none of the users {', '.join(UNPRIVILEGED)}; run it as another user than root")


# ---- nginx


def _nginx(place: Place, port: int) -> str:
    root, q = place.root, _quoted
    temporary = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    http = [file for file in place.includes if file.name == "nginx-http.conf"]
    server = [file for file in place.includes if file.name == "nginx-server.conf"]
    lines = [
        *(f"load_module {q(file)};" for file in _nginx_modules(place.modules)),
        *([f"user {unprivileged()};"] if os.geteuid() == 0 else []),
        f"pid {q(root / 'pid')};",
        f"error_log {q(root / 'error.log')};",
        "worker_processes 1;",
        "events { worker_connections 256; }",
        "http {",
        f'geo ${DOLLAR} {{ default "$"; }}',
        f"include {q(nginx_types(root))};",
        *(f"{name}_temp_path {q(root / name)};" for name in temporary),
        "access_log off; keepalive_requests 100000000; server_tokens off;",
        *(f"include {q(file)};" for file in http),
        "server {",
        f"listen 127.0.0.1:{port};",
        f"index {' '.join(map(q, place.index)) or 'index.html'};",
        *_nginx_root(place),
        *(f"add_header {name} {q(value)} always;" for name, value in place.headers),
        *(f"include {q(file)};" for file in server),
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _nginx_modules(names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the files of modules; one that is nowhere may be a part of the program."""
    for name in names:
        files = (Path(folder) / f"{name}.so" for folder in NGINX_MODULE_FOLDERS)
        yield from [file for file in files if file.exists()][:1]


def _nginx_root(place: Place) -> Iterator[str]:
    """Yield the root of the originals; below a prefix a link leads to them (``alias`` knows no try_files)."""
    if not place.prefix:
        yield f"root {quoting.nginx(str(place.docroot), DOLLAR)};"
        return
    link = place.root / "published" / place.prefix.strip("/")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(place.docroot.resolve())
    yield f"root {quoting.nginx(str(place.root / 'published'), DOLLAR)};"


def _quoted(value: object) -> str:
    return quoting.nginx(str(value))


# ---- media types


def mime_types(root: Path) -> Path:
    """Return the system's list of media types for Apache; where it has none, one of our own."""
    if Path("/etc/mime.types").exists():
        return Path("/etc/mime.types")
    file = root / "mime.types"
    file.write_text("".join(f"{media_type} {suffix}\n" for suffix, media_type in BY_EXTENSION.items()))
    return file


def nginx_types(root: Path) -> Path:
    """Return nginx's own list of media types; where it has none, one of ours."""
    if Path("/etc/nginx/mime.types").exists():
        return Path("/etc/nginx/mime.types")
    file = root / "nginx-types.conf"
    rows = "".join(f"{media_type} {suffix};\n" for suffix, media_type in BY_EXTENSION.items())
    file.write_text(f"types {{\n{rows}}}\n")
    return file


def _apache_command(program: str, _root: Path, file: Path) -> list[str]:
    return [program, "-f", os.fspath(file), "-DFOREGROUND"]


def _nginx_command(program: str, root: Path, file: Path) -> list[str]:
    places = ["-p", os.fspath(root), "-c", os.fspath(file), "-e", os.fspath(root / "error.log")]
    return [program, *places, "-g", "daemon off;"]


_CONFIGURATIONS = {"apache": _apache, "nginx": _nginx}
_COMMANDS = {"apache": _apache_command, "nginx": _nginx_command}
