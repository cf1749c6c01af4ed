"""Real servers on loopback, each in a directory of its own, for tests of what ``adaptc emit`` writes."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, BinaryIO

from tests.waiting import PATIENCE

MODULES = """
    mpm_event authz_core authz_host authz_user authn_core authn_file auth_basic mime dir headers rewrite remoteip alias
    setenvif autoindex filter deflate brotli env lua actions access_compat cgid
"""
APACHE_MODULES = Path("/usr/lib/apache2/modules")
# What an Apache's own configuration denies by path, pattern and directory, and these directories of the docroot
DENYING = """
<Location "/location">
    Require all denied
</Location>
<LocationMatch "(?i)^/match/.*\\.html$">
    Require all denied
</LocationMatch>
<Directory "{docroot}/directory">
    Require all denied
</Directory>
"""
DENIED = ("location", "match", "directory")
NGINX_SCRIPTS = Path("/usr/lib/nginx/modules/ngx_http_js_module.so")
# Below those that the system gives to whoever asks for any port, as other tests do all the time
_PORTS = range(20000, 32768)
# A user who may not read everything, for the tests of what a server cannot read
UNPRIVILEGED = "nobody" if os.geteuid() == 0 else None


@dataclass(frozen=True)
class Reply:
    """A response: status, header fields by their names in small letters, and the body as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Server:
    """A server that runs; ``get`` asks it with a header, if there is one."""

    port: int
    pid: int
    log: Path
    address: str = "127.0.0.1"
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, target: str, method: str = "GET", **headers: str) -> Reply:
        """Request ``target`` as written; ``accept_encoding="br"`` sends that header."""
        connection = HTTPConnection(self.address, self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in {**self.headers, **headers}.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders()
            assert connection.sock is not None
            with connection.sock.makefile("rb") as stream:
                return _reply(stream, method)


def _reply(stream: BinaryIO, method: str) -> Reply:
    """Read a response. ``http.client`` takes its fields for those of a mail, which takes longer than all the rest."""
    status, fields = 100, dict[str, str]()
    while status < 200:
        line = stream.readline()
        if not line:
            raise ConnectionResetError("the server closed the connection without an answer")
        status, fields = int(line.split(maxsplit=2)[1]), {}
        while field_line := stream.readline().strip():
            name, _, value = field_line.decode("latin-1").partition(":")
            fields[name.lower()] = value.strip()
    if method == "HEAD" or status in (204, 304):
        return Reply(status, fields, b"")
    if fields.get("transfer-encoding", "").lower() == "chunked":
        return Reply(status, fields, b"".join(iter(lambda: _chunk(stream), b"")))
    body = stream.read(int(fields["content-length"]) if "content-length" in fields else -1)
    assert len(body) == int(fields.get("content-length", len(body))), "the server closed the connection too early"
    return Reply(status, fields, body)


def _chunk(stream: BinaryIO) -> bytes:
    """Read a chunk of a body; the last one has nothing."""
    length = int(stream.readline().partition(b";")[0], 16)
    chunk = stream.read(length)
    assert (len(chunk), stream.readline()) == (length, b"\r\n"), "the server closed the connection too early"
    return chunk


def free_port() -> int:
    """Return a port of loopback that nobody listens on, and that no other test gets before it is used."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


def apache_text(root: Path, port: int, docroot: Path, inside: str, top: str = "", override: str = "All") -> str:
    """Return a whole configuration of Apache with one site; ``inside`` is in its <VirtualHost>.

    ``override`` is what .htaccess files in the docroot may say (AllowOverride).
    """
    present = [name for name in MODULES.split() if (APACHE_MODULES / f"mod_{name}.so").exists()]
    modules = "\n".join(f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so" for name in present)
    return f"""{modules}
ServerRoot "{root}"
PidFile "{root}/pid"
ErrorLog "{root}/error.log"
ServerName localhost
Listen 127.0.0.1:{port}
TypesConfig /etc/mime.types
StartServers 1
ThreadsPerChild 8
MinSpareThreads 1
MaxSpareThreads 16
MaxRequestWorkers 16
{top}
<Directory />
    Require all denied
    AllowOverride None
</Directory>
<Directory "{docroot}">
    Require all granted
    AllowOverride {override}
    Options FollowSymLinks
</Directory>
<VirtualHost *:{port}>
    DocumentRoot "{docroot}"
    DirectoryIndex index.html
{inside}
</VirtualHost>
"""


def nginx_text(root: Path, port: int, docroot: Path, http: str, server: str) -> str:
    """Return a whole configuration of nginx with one site."""
    user = "user root;" if os.getuid() == 0 else ""
    scripts = f'load_module "{NGINX_SCRIPTS}";' if NGINX_SCRIPTS.exists() else ""
    return f"""{scripts}
{user}
pid "{root}/pid";
error_log "{root}/error.log";
worker_processes 1;
events {{ worker_connections 256; }}
http {{
    include /etc/nginx/mime.types;
    client_body_temp_path "{root}/t1"; proxy_temp_path "{root}/t2"; fastcgi_temp_path "{root}/t3";
    uwsgi_temp_path "{root}/t4"; scgi_temp_path "{root}/t5";
    access_log off;
    {http}
    server {{
        listen 127.0.0.1:{port};
        root "{docroot}";
        {server}
    }}
}}
"""


def apache_check(file: Path) -> subprocess.CompletedProcess[str]:
    """Run Apache's own test of a configuration."""
    return subprocess.run(["/usr/sbin/apache2", "-t", "-f", file], capture_output=True, text=True, check=False)


def nginx_check(file: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Run nginx's own test of a configuration."""
    command = ["/usr/sbin/nginx", "-t", "-p", root, "-c", file, "-e", root / "error.log"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextlib.contextmanager
def apache(
    root: Path, docroot: Path, inside: str, top: str = "", override: str = "All", user: str | None = None
) -> Iterator[Server]:
    """Run Apache with one site, which is configured by ``inside``; ``user`` as for ``_running``."""
    root.mkdir(parents=True, exist_ok=True)
    port, file = free_port(), root / "apache2.conf"
    file.write_bytes(os.fsencode(apache_text(root, port, docroot, inside, top, override)))
    with _running(["/usr/sbin/apache2", "-f", str(file), "-DFOREGROUND"], port, root, user) as server:
        yield server


@contextlib.contextmanager
def nginx(root: Path, docroot: Path, http: str, server: str, user: str | None = None) -> Iterator[Server]:
    """Run nginx with one site, which is configured by ``http`` and ``server``; ``user`` as for ``_running``."""
    root.mkdir(parents=True, exist_ok=True)
    port, file = free_port(), root / "nginx.conf"
    file.write_bytes(os.fsencode(nginx_text(root, port, docroot, http, server)))
    command = ["/usr/sbin/nginx", "-p", str(root), "-c", str(file), "-e", str(root / "error.log"), "-g", "daemon off;"]
    with _running(command, port, root, user) as running:
        yield running


def caddy_text(port: int, docroot: Path, site: str, files: str = "") -> str:
    """Return a whole Caddyfile with one site, whose file server has the lines ``files`` too."""
    return f"""{{
\tadmin off
\tauto_https off
}}
http://127.0.0.1:{port} {{
\tbind 127.0.0.1
\troot * "{docroot}"
\tfile_server {{
\t\tindex index.html index.htm
\t\t{files}
\t}}
{site}
}}
"""


def lighttpd_text(port: int, docroot: Path, site: str) -> str:
    """Return a whole configuration of lighttpd with one site."""
    return f"""server.document-root = "{docroot}"
server.bind = "127.0.0.1"
server.port = {port}
index-file.names = ( "index.html" )
mimetype.assign = ( ".html" => "text/html", ".css" => "text/css", "" => "application/octet-stream" )
{site}
"""


@contextlib.contextmanager
def caddy(root: Path, docroot: Path, site: str, files: str = "") -> Iterator[Server]:
    """Run Caddy with one site, which is configured by ``site``, and its file server by ``files``."""
    root.mkdir(parents=True, exist_ok=True)
    port, file = free_port(), root / "Caddyfile"
    file.write_text(caddy_text(port, docroot, site, files))
    with _running(["caddy", "run", "--adapter", "caddyfile", "--config", str(file)], port, root) as server:
        yield server


@contextlib.contextmanager
def lighttpd(root: Path, docroot: Path, site: str) -> Iterator[Server]:
    """Run lighttpd with one site, which is configured by ``site``."""
    root.mkdir(parents=True, exist_ok=True)
    port, file = free_port(), root / "lighttpd.conf"
    file.write_text(lighttpd_text(port, docroot, site))
    with _running(["/usr/sbin/lighttpd", "-D", "-f", str(file)], port, root) as server:
        yield server


@contextlib.contextmanager
def varnish(root: Path, origin: int, file: Path, before: str = "") -> Iterator[Server]:
    """Run Varnish as proxy of the server at the port ``origin``; ``file`` is included, after ``before``."""
    root.mkdir(parents=True, exist_ok=True)
    port, main = free_port(), root / "main.vcl"
    backend = f'backend default {{ .host = "127.0.0.1"; .port = "{origin}"; }}'
    main.write_text(f'vcl 4.1;\n{backend}\n{before}\ninclude "{file}";\n')
    options = ["-p", "http_gzip_support=off", "-j", "none", "-s", "malloc,64m", "-n", str(root / "work")]
    with _running(["varnishd", "-F", "-a", f"127.0.0.1:{port}", "-f", str(main), *options], port, root) as server:
        yield server


@contextlib.contextmanager
def _running(command: list[str], port: int, root: Path, user: str | None = None) -> Iterator[Server]:
    """Run a server; as ``user`` if one is named, who must be able to search the directories above ``root``."""
    account: dict[str, Any] = {"user": user, "extra_groups": []} if user is not None else {}
    if user is not None:
        shutil.chown(root, user)
    environment = {**os.environ, "HOME": str(root)}
    with (
        (root / "out.log").open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=environment, **account) as started,
    ):
        try:
            _await(port, started, root)
            yield Server(port, started.pid, root / "error.log")
        finally:
            started.send_signal(signal.SIGTERM)
            started.wait(PATIENCE)


def _await(port: int, started: subprocess.Popen[bytes], root: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if started.poll() is not None:
            break
        time.sleep(0.02)
    errors = "".join(file.read_text("utf-8", "replace") for file in root.glob("*.log"))
    raise AssertionError(f"{started.args!r} did not start: {errors}")


# Where Debian has them, by package
PACKAGES = {
    "apache2": Path("/usr/sbin/apache2"),
    "nginx": Path("/usr/sbin/nginx"),
    "libnginx-mod-http-js": NGINX_SCRIPTS,
    "caddy": Path("/usr/bin/caddy"),
    "lighttpd": Path("/usr/sbin/lighttpd"),
    "lighttpd-modules-lua": Path("/usr/lib/lighttpd/mod_magnet.so"),
}


def missing() -> list[str]:
    """Return the packages of servers that are not installed."""
    return [name for name, file in PACKAGES.items() if not (file.is_file() and os.access(file, os.R_OK))]
