"""A built site on a real server with the emitted configuration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers import web
from tests.servers.web import Server
from tests.sites.built import BuiltSite

from adaptc.formats.codings import decode
from adaptc.serve.emitter import Emitted, emit
from adaptc.serve.launch import running
from adaptc.serve.server import Instance
from adaptc.serve.servers import server_named

CODINGS = {"br": "br", "gzip": "gz", "zstd": "zst"}

# A ladder with a level that is not the same page.
POORER: dict[str, Any] = {
    "build__levels": ("full", "lossless", "poorer"),
    "levels__poorer": {"extends": "lossless", "number": 2, "promise": "words"},
}


@dataclass(frozen=True)
class ServedSite:
    """A site, the kind of its server, and the build of its configuration."""

    site: BuiltSite
    kind: str
    build: dict[str, Any]

    @property
    def state(self) -> Path:
        return self.site.output / "run"

    def emitted(self, **settings: Any) -> Emitted:
        """Build, and emit for the server with these settings of [serve]."""
        serve_settings = {f"serve__{key}": value for key, value in settings.items()}
        self.site.build(**self.build)
        return emit(self.site.config(**{**self.build, **serve_settings}), [self.kind])

    def start(
        self,
        before: str = "",
        after: str = "",
        http: str = "",
        root: Path | None = None,
        user: str | None = None,
        **settings: Any,
    ) -> AbstractContextManager[Server]:
        """Start the server as ``user``; ``before`` and ``after`` surround the emitted lines, ``http`` the site."""
        self.emitted(**settings)
        conf = self.site.output / "serve"
        folder, docroot = self.site.root / "server", root or self.site.docroot
        if self.kind == "apache":
            return web.apache(folder, docroot, f'{before}\nInclude "{conf}/apache.conf"\n{after}', http, user=user)
        inside = f'{before}\ninclude "{conf}/nginx-server.conf";\n{after}'
        return web.nginx(folder, docroot, f'include "{conf}/nginx-http.conf";\n{http}', inside, user)

    def write_other_index_pages(self, page: str) -> None:
        """Write directories whose index page has the second name of ``site.index``, or either."""
        other = page.replace("words", "other")
        self.site.write({"old/index.htm": other, "both/index.html": page, "both/index.htm": other})

    def assert_index_pages_adapt(self, server: Server) -> None:
        """Check what the server sends for directories, those of ``write_other_index_pages`` and ``news``."""
        for directory, name in (("old", "index.htm"), ("both", "index.html"), ("news", "index.html")):
            reply = server.get(f"/{directory}/", accept_encoding="br")
            assert reply.headers.get("x-adapt") == "lossless/br", directory
            assert reply.body == self.site.read(f"{directory}/{name}", coding="br")

    def switch(self, on: bool = True) -> None:
        """Set or remove the flag."""
        flag = self.state / "opt.do"
        if on:
            flag.touch()
        else:
            flag.unlink(missing_ok=True)


@contextmanager
def started(served: ServedSite, before: str = "", **settings: Any) -> Iterator[Server]:
    """Run the server of ``served``, of any kind, with what is emitted for it after the lines ``before``."""
    if served.kind in ("nginx", "apache"):
        with served.start(before, **settings) as server:
            yield server
        return
    served.emitted(**settings)
    conf = served.site.output / "serve"
    line = {"caddy": f"import {conf}/Caddyfile", "lighttpd": f'include "{conf}/lighttpd.conf"'}[served.kind]
    with getattr(web, served.kind)(served.site.root / "front", served.site.docroot, f"{before}\n{line}") as server:
        yield server


@contextmanager
def serving(served: ServedSite, front: str, **settings: Any) -> Iterator[Server]:
    """Run a server, or a reverse proxy in front of that of ``served``, with what is emitted for it."""
    root = served.site.root / "front"
    if front in ("caddy", "lighttpd"):
        with started(served, **settings) as server:
            yield server
        return
    settings = {"reverse_proxy": front, "shared_seconds": 3600, **settings}
    with ExitStack() as stack:
        origin = stack.enter_context(served.start(**settings))
        config = served.site.config(**served.build, **{f"serve__{key}": value for key, value in settings.items()})
        emitted = emit(config, [front])
        instance = Instance(
            root,
            served.site.docroot,
            "",
            ("index.html",),
            emitted.files,
            origin=origin.port,
            log_format=emitted.policy.name,
        )
        proxy = stack.enter_context(running(server_named(front), instance))
        yield Server(proxy.port, proxy.process, root / "error.log")


def decoded(reply: web.Reply) -> bytes:
    """Return the body without the coding that the response says it has."""
    coding = reply.headers.get("content-encoding")
    return reply.body if coding is None else decode(reply.body, CODINGS[coding], None)  # type: ignore[arg-type]
