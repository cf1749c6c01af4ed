"""``adaptc export --ladder``: the files that it adds, and the worker in Chromium."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.servers import web
from tests.servers.browser import Browser
from tests.sites.built import BuiltSite
from tests.waiting import PATIENCE, wait_until

from adaptc.compile.engine.reporting import Silent
from adaptc.core.diagnostics import UsageError
from adaptc.formats.codings import decode
from adaptc.workflow.configuration import load_config
from adaptc.workflow.export.export import Export, export_site
from adaptc.workflow.export.ladder import EDGES, read_ruled_paths, withdrawn_script

SHEET = (
    "body { color: rgb(1, 2, 3) }\n/* a comment */\nh1 { background: url(deco/stripes.png) }\n"
    + "p { margin: 0 }\n" * 99
)
WORDS = "words  and words \n" * 200
PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n<head><title>A page</title>\n<link rel=stylesheet href=/site.css>\n"
    f"<!-- full --></head>\n<body><h1>A page</h1>\n<p>{WORDS}</p><script src=/site.js></script>\n</body></html>\n"
)
SCRIPT = "// a comment that the level drops\nvar loaded = 'at the root' // and another\n"
POLICY = PAGE.replace("<title>", "<meta http-equiv=Content-Security-Policy content=\"script-src 'none'\"><title>")
PINNED = PAGE.replace("A page", "Pinned")
FILES = {
    "index.html": PAGE,
    "about.html": PAGE.replace("A page", "About"),
    "deep/index.html": PAGE.replace("A page", "Deep"),
    "policy.html": POLICY,
    "pinned.html": PINNED,
    "ngsw.json": f'{{"/pinned.html": "{hashlib.sha1(PINNED.encode()).hexdigest()}"}}',
    "404.html": PAGE,
    "site.css": SHEET,
    "site.js": SCRIPT,
    "note.bin": b"\0\1",
}
LEVELS = ["full", "lossless", "extreme"]
LADDER = "_adaptc/levels/extreme"


@pytest.fixture
def site(tmp_path: Path) -> BuiltSite:
    made = BuiltSite(tmp_path)
    made.write(FILES).build(build__levels=LEVELS)
    return made


def export(site: BuiltSite, level: str = "full", encodings: str = "suffix", ladder: bool | None = True) -> Export:
    config = site.config(build__levels=LEVELS)
    return export_site(config, level, site.root / "public", encodings, Silent(), ladder=ladder)


def read(site: BuiltSite, name: str) -> bytes:
    return (site.root / "public" / name).read_bytes()


def names(site: BuiltSite) -> set[str]:
    public = site.root / "public"
    return {str(file.relative_to(public)) for file in public.rglob("*") if file.is_file()}


# ---- what it holds


def test_pages_of_the_level_get_a_script_and_nothing_else(site: BuiltSite) -> None:
    export(site)
    assert (
        read(site, "index.html")
        == PAGE.replace("</head>", '<script src="adaptc-ladder.js" async></script></head>').encode()
    )
    assert b'<script src="../adaptc-ladder.js" async></script>' in read(site, "deep/index.html")
    assert decode(read(site, "index.html.br"), "br", None) == read(site, "index.html")
    assert len(read(site, "adaptc-ladder.js")) < 8000


def test_pages_to_which_it_may_not_be_added_stay_as_they_are(site: BuiltSite) -> None:
    done = export(site)
    told = {str(each.location): each.message for each in done.diagnostics if each.id == "ladder-unregistered"}
    assert set(told) == {"policy.html", "404.html", "pinned.html"}
    assert told["pinned.html"].endswith("its digest stands in ngsw.json")
    assert read(site, "pinned.html") == PINNED.encode()
    assert "Content-Security-Policy" in told["policy.html"]
    assert read(site, "policy.html") == POLICY.encode()


def test_lower_levels_are_next_to_it_and_their_pages_are_plain_text(site: BuiltSite) -> None:
    export(site)
    assert read(site, f"{LADDER}/deep/index.html.txt") == site.read("deep/index.html", "extreme")
    assert decode(read(site, f"{LADDER}/index.html.txt.br"), "br", None) == site.read("index.html", "extreme")
    assert {f"{LADDER}/site.css", f"{LADDER}/index.html.txt.gz"} <= names(site)
    assert not any(
        name.startswith(f"{LADDER}/note") or (name.endswith(".html") and LADDER in name) for name in names(site)
    )


def test_an_export_is_repeated_without_work(site: BuiltSite) -> None:
    export(site)
    before = {name: (site.root / "public" / name).stat().st_mtime_ns for name in names(site)}
    assert export(site).written == 0
    assert before == {name: (site.root / "public" / name).stat().st_mtime_ns for name in names(site)}


def test_without_a_lower_level_there_is_no_ladder(tmp_path: Path) -> None:
    site = BuiltSite(tmp_path).write(FILES)
    site.build()
    with pytest.raises(UsageError, match="adaptc build --level moderate"):
        export_site(site.config(), "full", site.root / "public", "none", Silent(), ladder=True)


def test_the_next_export_without_it_leaves_what_removes_the_worker(site: BuiltSite) -> None:
    export(site)
    done = export(site, ladder=None)
    assert [each.id for each in done.diagnostics] == ["ladder-withdrawn"]
    assert b"unregister" in read(site, "adaptc-ladder.js")
    assert read(site, "index.html") == PAGE.encode()
    assert not any(name.startswith("_adaptc/") for name in names(site))
    export(site, ladder=None)
    assert "adaptc-ladder.js" in names(site)  # visitors may come back late


def test_a_first_export_removes_the_worker_of_one_that_is_not_known(site: BuiltSite) -> None:
    assert "adaptc-ladder.js" not in names(site) and not export(site, ladder=None).diagnostics
    export(site, ladder=False)
    assert "adaptc-ladder.js" in names(site)


# ---- rules of hosts


HEADERS = """\
/*
  X-Frame-Options: DENY
# a comment
/assets/*
  Cache-Control: max-age=31536000
/members/*
  Cache-Control: no-store
  Basic-Auth: someone:secret
/about
  Content-Language: en
"""


@pytest.mark.parametrize(
    ("path", "applies"),
    [
        ("members/list.html", True), ("about.html", True), ("about/index.html", True), ("assets/a.png", False),
        ("old.html", True), ("blog/a/post.html", True), ("blog/post.html", False), ("index.html", False),
    ],
)  # fmt: skip
def test_paths_to_which_a_host_does_something_have_no_copies(path: str, applies: bool) -> None:
    redirects = "/old /new 301\n/blog/:year/post.html /posts/:year\n/* /index.html 200\n"
    assert read_ruled_paths(HEADERS, redirects).applies_to(path) is applies


def test_a_forced_redirect_of_everything_leaves_no_copies(site: BuiltSite) -> None:
    assert read_ruled_paths("", "/* https://example.org/:splat 301!").applies_to("index.html")
    site.write({"_headers": "/deep/*\n  Basic-Auth: someone:secret\n"}).build(build__levels=LEVELS)
    export(site)
    assert f"{LADDER}/deep/index.html.txt" not in names(site)
    assert f"{LADDER}/about.html.txt" in names(site)


# ---- in Chromium


@dataclass
class Host:
    """A host that only sends files: what was asked of it, and how late it sends what pages embed (seconds)."""

    root: Path
    asked: list[str] = field(default_factory=list)
    late: float = 0.0
    fallback: bool = False
    url: str = ""

    def take_asked(self) -> list[str]:
        """Return the paths that were asked for since the last call."""
        taken, self.asked = self.asked, []
        return taken


@contextlib.contextmanager
def hosted(root: Path) -> Iterator[Host]:
    host = Host(root)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args, directory=str(root))

        def do_GET(self) -> None:
            host.asked.append(self.path)
            if self.path.endswith((".css", ".js")):
                time.sleep(host.late)
            if host.fallback and not Path(self.translate_path(self.path)).exists():
                self.path = "/index.html"
            super().do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        host.url = f"http://127.0.0.1:{server.server_address[1]}/"
        try:
            yield host
        finally:
            server.shutdown()


class Visitor:
    """A browser that keeps what it was told, on the pages of a host."""

    def __init__(self, browser: Browser, host: Host) -> None:
        self.browser, self.host = browser, host
        browser.call("Network.setCacheDisabled", cacheDisabled=False)

    def wait(self, expression: str) -> Any:
        """Return the value of a promise of the page, once it is true; fail when it stays false."""
        loop = f"""(async () => {{
            for (const end = performance.now() + {800 * PATIENCE}; performance.now() < end;) {{
                const value = await ({expression})
                if (value) return value
                await new Promise((resolve) => setTimeout(resolve, 10))
            }}
        }})()"""
        answer = self.browser.call("Runtime.evaluate", expression=loop, awaitPromise=True, returnByValue=True)
        assert "value" in answer["result"], expression
        return answer["result"]["value"]

    def visit(self, path: str) -> str:
        """Load a page; return the level that it is at."""
        self.browser.call("Page.navigate", url=self.host.url + path)
        return self._level()

    def reload(self) -> str:
        """Load the page again, as a reader does; return its level."""
        self.browser.evaluate("window.isOld = true")
        self.browser.call("Page.reload")
        return self._level()

    def _level(self) -> str:
        self.wait("!window.isOld && document.readyState === 'complete'")
        return (
            "full" if self.browser.evaluate("document.documentElement.outerHTML.includes('<!-- full -->')") else "low"
        )

    def state(self, pages: int) -> dict[str, Any]:
        """Return what is remembered of the line, once that many pages were measured."""
        key = json.dumps(f"{self.host.url}adaptc-ladder?state")
        return dict(self.wait(f"caches.match({key}).then((a) => a?.json()).then((s) => s?.pages === {pages} && s)"))

    def has_worker(self) -> None:
        """Wait until the worker is active."""
        self.wait("navigator.serviceWorker.getRegistration().then((found) => found?.active?.state === 'activated')")

    def has_no_worker(self) -> None:
        """Wait until there is no worker."""
        self.wait("navigator.serviceWorker.getRegistration().then((found) => !found)")

    def colour(self) -> str:
        """Return the colour of the text, which the style sheet sets."""
        return str(self.browser.evaluate("getComputedStyle(document.body).color"))


# Delays in seconds at which the answer is certain: one is never reached here, the other always
NEVER, ALWAYS = 3000.0, 0.0
LOW = PAGE.replace("<!-- full -->", "<!-- low -->")


@contextlib.contextmanager
def visited(tmp_path: Path, browser: Browser, **rules: float) -> Iterator[Visitor]:
    """Export a site whose low level has a style sheet of its own; ``rules`` are those of the classifier."""
    site = BuiltSite(tmp_path).write(FILES)
    (tmp_path / "adaptc.toml").write_text(
        "[daemons.classify]\n" + "".join(f"{name} = {value}\n" for name, value in rules.items())
    )
    site.build(build__levels=LEVELS)
    config = load_config(
        tmp_path / "adaptc.toml", {"docroot": site.docroot, "output": site.output, "build.levels": LEVELS}
    )
    export_site(config, "full", tmp_path / "public", "none", Silent(), ladder=True)
    for name in ("index.html", "about.html", "deep/index.html"):
        (tmp_path / "public" / LADDER / f"{name}.txt").write_text(LOW)
    sheet = tmp_path / "public" / LADDER / "site.css"
    sheet.write_text("body { color: rgb(9, 9, 9) }")
    os.utime(sheet, (0, 0))  # the older a file is, the longer browsers keep it
    with hosted(tmp_path / "public") as host:
        yield Visitor(browser, host)


# Every page of a visitor was as slow, or as fast, as can be
SLOW = {"warm_up": 1, "rich_first": ALWAYS, "poor_first": ALWAYS + 1e-9, "rich_last": ALWAYS, "poor_last": 1e-9}
FAST = {"warm_up": 1, "rich_first": NEVER, "poor_first": NEVER + 1, "rich_last": NEVER, "poor_last": NEVER + 1}

# The delays of the page are in its address, and so they are what the paper's log has
MEASURED = """
const measured = performance.getEntriesByType.bind(performance)
performance.getEntriesByType = (kind) => {
    const delays = /^#([\\d.]+),([\\d.]+)$/.exec(location.hash)
    if (!delays) return measured(kind)
    const [first, last] = delays.slice(1).map((text) => 1000 * text)
    if (kind === "navigation") return [{ type: "navigate", requestStart: 0, loadEventStart: 1e9, activationStart: 0 }]
    const entry = { initiatorType: "img", name: location.origin + "/a.png", transferSize: 1 }
    return [{ ...entry, startTime: first, responseEnd: first }, { ...entry, startTime: first, responseEnd: last }]
}"""
# Krishnamurthy and others 2003, section 2.1: seconds to the first and last object, and the estimates and classes after
LOG = [
    (2, 6, 2, 6, "poor"),
    (1, 2, 1.7, 4.8, "normal"),
    (0, 1, 1.19, 3.66, "normal"),
    (0, 0, 0.833, 2.562, "normal"),
    (0, 1, 0.5831, 2.0934, "normal"),
    (0, 0, 0.40817, 1.46538, "rich"),
    (8, 20, 2.685719, 7.025766, "poor"),
]


def test_the_line_is_classified_as_in_the_paper(tmp_path: Path, browser: Browser) -> None:
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source=MEASURED)["identifier"]
    with visited(tmp_path, browser, warm_up=1, patience=1) as visitor:
        before = "rich"
        for number, (first, last, *estimate, believed) in enumerate(LOG):
            level = visitor.visit(f"index.html?{number}#{first},{last}")
            assert level == ("low" if before == "poor" else "full")
            if level == "low":
                assert visitor.reload() == "full"  # the page itself, which is measured
            state = visitor.state(number + 1)
            assert [state["first"], state["last"]] == pytest.approx(estimate)
            assert state["believed"] == (before := believed)
            (visitor.has_worker if believed == "poor" else visitor.has_no_worker)()
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_a_visitor_on_a_fast_line_has_no_worker(tmp_path: Path, browser: Browser) -> None:
    with visited(tmp_path, browser, **FAST) as visitor:
        assert [visitor.visit("index.html"), visitor.state(1)["believed"]] == ["full", "rich"]
        visitor.has_no_worker()
        assert visitor.visit("about.html") == "full"
        assert not [path for path in visitor.host.asked if "levels" in path]


def test_a_visitor_on_a_slow_line_gets_pages_and_objects_of_the_level(tmp_path: Path, browser: Browser) -> None:
    rules = {"warm_up": 1, "rich_last": 0.05, "poor_last": 0.2}
    with visited(tmp_path, browser, **rules) as visitor:
        visitor.host.late = 0.3
        assert visitor.visit("index.html") == "full"
        assert visitor.state(1)["believed"] == "poor"
        visitor.has_worker()
        visitor.host.take_asked()
        assert (visitor.visit("about.html"), visitor.colour()) == ("low", "rgb(9, 9, 9)")
        assert {f"/{LADDER}/about.html.txt", f"/{LADDER}/site.css"} <= set(visitor.host.take_asked())
        assert visitor.browser.evaluate("location.pathname + document.contentType") == "/about.htmltext/html"
        # a page that is not at the level has its own style sheet, which Chromium must not take from its memory
        (tmp_path / "public" / LADDER / "deep/index.html.txt").unlink()
        assert (visitor.visit("deep/"), visitor.colour()) == ("full", "rgb(1, 2, 3)")
        assert visitor.visit("about.html") == "low"
        assert (visitor.reload(), visitor.colour()) == ("full", "rgb(1, 2, 3)")


def test_what_is_no_page_of_the_level_is_left_to_the_network(tmp_path: Path, browser: Browser) -> None:
    with visited(tmp_path, browser, **SLOW) as visitor:
        visitor.visit("index.html")
        visitor.has_worker()
        assert visitor.visit("about.html") == "low"
        assert visitor.visit("about") == "full" or visitor.browser.evaluate("document.title").startswith("Error")
        text = "fetch('/site.css', {headers: {range: 'bytes=0-3'}}).then((answer) => answer.text())"
        assert visitor.wait(text).startswith(SHEET[:4])
        assert visitor.wait("fetch('/about.html').then((answer) => answer.text())").count("<!-- full -->") == 1
        (tmp_path / "public" / LADDER / "about.html.txt").unlink()
        assert visitor.visit("about.html") == "full"
        visitor.host.fallback = True  # a host that sends its first page for all that it does not have
        assert visitor.visit("about.html?again") == "full"
        assert visitor.browser.evaluate("document.title") == "About"


def test_hints_of_the_network_count_before_anything_was_measured(tmp_path: Path, browser: Browser) -> None:
    line = {"offline": False, "latency": 0, "uploadThroughput": -1}
    with visited(tmp_path, browser) as visitor:
        browser.call("Network.emulateNetworkConditions", **line, downloadThroughput=40_000, connectionType="cellular3g")
        visitor.visit("index.html")
        visitor.has_worker()
        assert visitor.visit("about.html") == "low"
        browser.call("Network.emulateNetworkConditions", **line, downloadThroughput=-1)
        assert visitor.visit("deep/") == "full"


def test_a_withdrawn_worker_removes_itself_and_what_it_remembers(tmp_path: Path, browser: Browser) -> None:
    with visited(tmp_path, browser, **SLOW) as visitor:
        visitor.visit("index.html")
        visitor.has_worker()
        assert visitor.visit("about.html") == "low"
        script = tmp_path / "public" / "adaptc-ladder.js"
        script.write_bytes(withdrawn_script())
        os.utime(script, (2e9, 2e9))  # another second than before, or the host says that it is the same
        visitor.browser.evaluate("navigator.serviceWorker.getRegistration().then((found) => found.update())")
        visitor.has_no_worker()
        visitor.wait("caches.keys().then((names) => !names.length)")
        assert visitor.visit("about.html") == "full"


def test_a_worker_whose_site_moved_removes_itself(tmp_path: Path, browser: Browser) -> None:
    with visited(tmp_path, browser, **SLOW) as visitor:
        visitor.visit("index.html")
        visitor.has_worker()
        for name in ("adaptc-ladder.js", f"{LADDER}/about.html.txt"):
            (tmp_path / "public" / name).unlink()
        assert visitor.visit("about.html") == "full"
        visitor.has_no_worker()


def test_the_worker_of_the_site_itself_is_left_alone(tmp_path: Path, browser: Browser) -> None:
    with visited(tmp_path, browser, **SLOW) as visitor:
        (tmp_path / "public" / "own.js").write_text("addEventListener('install', () => self.skipWaiting())")
        visitor.visit("404.html")
        visitor.browser.evaluate("navigator.serviceWorker.register('/own.js')")
        visitor.has_worker()
        assert visitor.visit("index.html") == "full"
        assert visitor.visit("about.html") == "full"
        own = "navigator.serviceWorker.getRegistration().then((found) => found.active.scriptURL)"
        assert visitor.wait(own) == f"{visitor.host.url}own.js"


# ---- at the edge


def edge(site: BuiltSite, host: str = "cloudflare", **settings: Any) -> str:
    config = site.config(build__levels=LEVELS, **settings)
    done = export_site(config, "full", site.root / "public", "none", Silent(), ladder=True, edge=host)
    assert not done.diagnostics
    return read(site, EDGES[host]).decode()


def test_a_script_at_the_edge_takes_the_place_of_the_worker(site: BuiltSite) -> None:
    script = edge(site)
    assert len(zlib.compress(script.encode())) < 2500
    assert read(site, "index.html") == PAGE.encode()
    assert read(site, f"{LADDER}/index.html.txt") == site.read("index.html", "extreme")
    assert json.loads(read(site, "_routes.json"))["exclude"] == ["/_adaptc/*"]
    assert "adaptc-ladder.js" not in names(site)
    export(site)
    assert not {"_worker.js", "_routes.json"} & names(site)


def test_a_site_with_a_script_of_its_own_keeps_it(site: BuiltSite) -> None:
    site.write({"_worker.js": "export default {}"}).build(build__levels=LEVELS)
    with pytest.raises(UsageError, match=r"_worker\.js of its own"):
        edge(site)


# What the script decides: rules, address, country and header fields, and the level of the answer ("": the site itself)
DECISIONS: list[tuple[str, str, str, str, dict[str, str], str]] = [
    ("", "/", "192.0.2.1", "DE", {}, ""),
    ("extreme", "/", "192.0.2.1", "DE", {}, "extreme"),
    ("extreme", "/about", "192.0.2.1", "DE", {}, "extreme"),
    ("extreme", "/deep/", "192.0.2.1", "DE", {}, "extreme"),
    ("extreme", "/site.css", "192.0.2.1", "DE", {}, "extreme"),
    ("extreme", "/note.bin", "192.0.2.1", "DE", {}, ""),
    ("extreme", "/nothing.html", "192.0.2.1", "DE", {}, ""),
    ("extreme", "/_adaptc/levels/extreme/index.html.txt", "192.0.2.1", "DE", {}, ""),
    ("off extreme:100%", "/", "192.0.2.1", "DE", {}, "extreme"),
    ("extreme:0%", "/", "192.0.2.1", "DE", {}, ""),
    ("IN=extreme", "/", "192.0.2.1", "IN", {}, "extreme"),
    ("IN=extreme", "/", "192.0.2.1", "DE", {}, ""),
    ("extreme /deep/=off", "/deep/", "192.0.2.1", "DE", {}, ""),
    ("extreme /deep/=off", "/about.html", "192.0.2.1", "DE", {}, "extreme"),
    ("off", "/", "192.0.2.1", "DE", {"Save-Data": "on"}, "extreme"),
    ("", "/", "192.0.2.1", "DE", {"ECT": "2g"}, "extreme"),
    ("", "/", "192.0.2.1", "DE", {"Downlink": "0.2"}, "extreme"),
    ("", "/", "192.0.2.1", "DE", {"Downlink": "10", "RTT": "50", "ECT": "4g"}, ""),
    ("no-such-level", "/", "192.0.2.1", "DE", {}, ""),
    ("../../etc =: % extreme:x%", "/", "192.0.2.1", "DE", {}, ""),
]


def test_what_the_edge_decides(site: BuiltSite, browser: Browser) -> None:
    script = edge(site, serve__shared_seconds=60).replace("export default", "const adapter =")
    with hosted(site.root / "public") as host:
        visitor = Visitor(browser, host)
        visitor.visit("404.html")
        run = f"""(async () => {{
            {script}
            const got = []
            for (const [rules, path, client, country, headers] of {json.dumps(DECISIONS)}) {{
                const request = new Request(new URL(path, location), {{ headers }})
                const answer = await answerOf(request, {{ rules, client, country, ask: (name) => fetch(name) }})
                const field = (name) => answer && answer.headers.get(name)
                got.push([field("x-adapt") || "", field("content-type"), field("cache-control"), field("cache-tag")])
            }}
            return got
        }})()"""
        got = visitor.wait(run)
    labels = [row.pop() for row in got]
    assert [level for level, *_ in got] == [row[-1] for row in DECISIONS]
    assert got[1] == ["extreme", "text/html", "max-age=0, s-maxage=30, stale-while-revalidate=24, must-revalidate"]
    assert got[4][1] == "text/css"
    assert re.fullmatch(r"(ad_\w+)-extreme,\1/.*", labels[1])
    assert {label for row, label in zip(got, labels, strict=True) if row[2] == "private, no-cache"} == {None}
    assert {row[2] for row, wanted in zip(got, DECISIONS, strict=True) if wanted[4] and row[0]} == {"private, no-cache"}


def test_a_function_that_cloudfront_would_not_take_is_refused(site: BuiltSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.workflow.export.ladder._MOST_BYTES", 1000)
    with pytest.raises(UsageError, match=r"CloudFront takes 1,000: it names \d+ files"):
        edge(site, "cloudfront")


# njs runs the function with a stand-in of the key-value store, whose value is that of the row. It has no URL and no
# destructuring, as the runtime of CloudFront has none
FUNCTION = """
let rules = ""
const cf = { kvs: () => ({ get: () => (rules ? Promise.resolve(rules) : Promise.reject(new Error("none"))) }) }
SCRIPT
async function decide(r) {
    const rows = ROWS, got = []
    for (let at = 0; at < rows.length; at++) {
        const row = rows[at], headers = { "cloudfront-viewer-country": { value: row[3] } }
        Object.keys(row[4]).forEach((name) => { headers[name.toLowerCase()] = { value: row[4][name] } })
        rules = row[0]
        const request = () => ({ method: "GET", uri: row[1], headers: headers, querystring: {}, cookies: {} })
        const of = (type) => ({ context: { eventType: type }, viewer: { ip: row[2] }, request: request() })
        const asked = await handler(of("viewer-request"))
        const event = of("viewer-response")
        event.response = { statusCode: 200, headers: { "cache-control": { value: "max-age=60" } } }
        const answer = await handler(event)
        const level = answer.headers["x-adapt"] ? answer.headers["x-adapt"].value : ""
        got.push([asked.uri || asked.statusCode, level, answer.headers["cache-control"].value])
    }
    r.return(200, JSON.stringify(got))
}
export default { decide }
"""


@pytest.mark.servers
@pytest.mark.skipif(not web.NGINX_SCRIPTS.exists(), reason="there is no njs")
def test_what_a_function_of_cloudfront_decides(site: BuiltSite, tmp_path: Path) -> None:
    site.write({"_headers": "/about.html\n  Basic-Auth: someone:secret\n"}).build(build__levels=LEVELS)
    script = edge(site, "cloudfront", serve__shared_seconds=60)
    assert len(script) < 10_240  # the largest function
    assert read(site, f"{LADDER}/index.html") == site.read("index.html", "extreme")
    assert not {f"{LADDER}/index.html.txt", f"{LADDER}/about.html"} & names(site)
    rows = [*DECISIONS, ("extreme", "/about.html", "192.0.2.1", "DE", {}, "")]
    alone = re.sub(r'import cf from ?"cloudfront";?', "", script)
    module = FUNCTION.replace("SCRIPT", alone).replace("ROWS", json.dumps(rows))
    (tmp_path / "decide.js").write_text(module)
    http = f'js_path "{tmp_path}"; js_import decide.js;'
    with web.nginx(tmp_path / "nginx", tmp_path, http, "location / { js_content decide.decide; }") as server:
        got = json.loads(server.get("/").body)
    for (rules, path, _, _, hints, level), (uri, said, caching) in zip(rows, got, strict=True):
        if path.startswith("/_adaptc/"):
            assert (uri, said) == (404, "")
        elif path in ("/about", "/about.html") or (not level and path != "/nothing.html"):
            assert (uri, said, caching) == (path, "", "max-age=60")  # the site itself
        else:  # a page that there is not is none at the level either
            name = f"{path}index.html" if path.endswith("/") else path
            assert (uri, said) == (f"/{LADDER}{name}", "extreme")
            is_own = hints or "%" in rules or "IN=" in rules
            assert caching.startswith("private" if is_own else "max-age=0, s-maxage=30")


# Node runs the script with stand-ins of what the hosts document: globals, contexts, requests to the site itself
STAND_INS = """
import {{ readFileSync, existsSync }} from "node:fs"
const rules = "extreme /deep/=off", asked = []
globalThis.Netlify = {{ env: {{ get: (name) => (name === "ADAPTC_LEVEL" ? rules : undefined) }} }}
process.env.ADAPTC_LEVEL = rules
globalThis.fetch = async (request) => {{
  const path = new URL(request.url).pathname
  asked.push(path)
  const file = {root} + path
  const type = path.endsWith(".txt") ? "text/plain" : path.endsWith(".css") ? "text/css" : "text/html"
  return existsSync(file)
    ? new Response(readFileSync(file), {{ headers: {{ "content-type": type }} }})
    : new Response("none", {{ status: 404 }})
}}
const found = await import({script})
const got = []
for (const path of {paths}) {{
  const headers = {{ "x-real-ip": "192.0.2.1", "x-vercel-ip-country": "DE" }}
  const request = new Request("https://site.example" + path, {{ headers }})
  const answer = await found.default(request, {{ ip: "192.0.2.1", geo: {{ country: {{ code: "DE" }} }} }})
  const isNext = answer === undefined || answer.headers.get("x-middleware-next") === "1"
  got.push(isNext ? null : [answer.headers.get("x-adapt"), answer.headers.get("content-type"), await answer.text()])
}}
globalThis.fetch = async () => {{ throw new Error("down") }}
const failed = await found.default(new Request("https://site.example/"), {{ ip: "192.0.2.1" }})
const isSafe = failed === undefined || failed.headers.get("x-middleware-next") === "1"
console.log(JSON.stringify({{ got, config: found.config, isSafe, asked }}))
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("host", ["netlify", "vercel"])
def test_scripts_of_other_hosts(site: BuiltSite, tmp_path: Path, host: str) -> None:
    script = tmp_path / "script.mjs"
    script.write_text(edge(site, host))
    assert "_routes.json" not in names(site)
    paths = [path for path, _, _ in AT_THE_EDGE]
    (tmp_path / "run.mjs").write_text(
        STAND_INS.format(
            root=json.dumps(str(site.root / "public")), script=json.dumps(str(script)), paths=json.dumps(paths)
        )
    )
    run = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, text=True, check=True)
    answer = json.loads(run.stdout)
    for (path, name, level), got in zip(AT_THE_EDGE, answer["got"], strict=True):
        if level is None:
            assert got is None, path
        else:
            assert got[0] == level
            assert got[1] == ("text/css" if name.endswith(".css") else "text/html")
            assert got[2].encode() == site.read(name, level)
    assert all(path.startswith("/_adaptc/levels/") for path in answer["asked"])
    assert answer["isSafe"]
    pattern = answer["config"].get("matcher") or answer["config"]["excludedPath"]
    assert "_adaptc/" in pattern  # or the script would answer its own requests


# Paths, and the file and the level that the rules of WORKERD choose
AT_THE_EDGE = (
    ("/", "index.html", "extreme"),
    ("/about", "about.html", "extreme"),
    ("/site.css", "site.css", "extreme"),
    ("/deep/", "deep/index.html", None),
    ("/note.bin", "note.bin", None),
)
WORKERD = """using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "public/_worker.js")],
      compatibilityDate = "2025-01-01",
      bindings = [(name = "ASSETS", service = "assets"), (name = "ADAPTC_LEVEL", text = "extreme /deep/=off")])),
    (name = "assets", external = (address = "127.0.0.1:%d", http = ()))],
  sockets = [(name = "http", address = "127.0.0.1:%d", http = (), service = "main")]);
"""


def install(folder: Path, package: str) -> Path:
    """Install a program from npm; return it."""
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", package], cwd=folder, check=True)
    return folder / "node_modules" / ".bin" / package


def assert_answers_by_rules(
    site: BuiltSite, server: web.Server, rows: Sequence[tuple[str, str | None, str | None]]
) -> None:
    """Ask for each of the paths in turn; ``rows`` have the level of the answer, and the page that it is."""
    wait_until(lambda: answers(server))
    for number in range(500 * int(os.environ.get("ADAPTC_FUZZ", "1"))):
        path, wanted, name = rows[number % len(rows)]
        reply = server.get(path)
        assert (reply.status, reply.headers.get("x-adapt")) == (200, wanted), path
        if name is not None:
            assert reply.body == site.read(name, wanted or "full")
            assert reply.headers["content-type"].startswith("text/html")
    for method, fields in (("HEAD", {"content_length": "0"}), ("GET", {"content_length": "0"})):  # .NET, monitors
        reply = server.get("/", method, **fields)
        assert (reply.status, reply.headers.get("x-adapt"), reply.body == b"") == (200, "extreme", method == "HEAD")


BY_RULES: tuple[tuple[str, str | None, str | None], ...] = (
    ("/", "extreme", "index.html"),
    ("/about.html", "extreme", "about.html"),
    ("/deep/", None, "deep/index.html"),
    ("/note.bin", None, None),
)


@pytest.mark.npm
def test_the_edge_in_its_real_runtime(site: BuiltSite) -> None:
    """workerd is what Cloudflare runs: 500 requests (ADAPTC_FUZZ=10: 5,000), at the level of the rules."""
    edge(site)
    program = install(site.root, "workerd")
    with hosted(site.root / "public") as host:
        port = web.free_port()
        (site.root / "edge.capnp").write_text(WORKERD % (int(host.url.rstrip("/").rpartition(":")[2]), port))
        with subprocess.Popen([program, "serve", "edge.capnp"], cwd=site.root) as running:
            try:
                rows = (*BY_RULES, ("/about", "extreme", "about.html"))
                server = web.Server(port, running.pid, site.root)
                assert_answers_by_rules(site, server, rows)
                known = server.get("/", if_modified_since="Sun, 01 Jan 2090 00:00:00 GMT")
                assert (known.status, known.headers.get("x-adapt"), known.body) == (304, "extreme", b"")
            finally:
                running.terminate()


# What is in the place of the file server of Deno's standard library, which is not at npm
FILE_SERVER = """
const types = { html: "text/html; charset=UTF-8", txt: "text/plain; charset=UTF-8", css: "text/css" }
export const serveDir = async (request, { fsRoot }) => {
  const { pathname } = new URL(request.url)
  const path = fsRoot + pathname + (pathname.endsWith("/") ? "index.html" : "")
  try {
    const type = types[path.split(".").pop()] ?? "application/octet-stream"
    return new Response(await Deno.readFile(path), { headers: { "content-type": type } })
  } catch {
    return new Response("Not Found", { status: 404 })
  }
}
"""


@pytest.mark.npm
def test_deno_serves_the_ladder(site: BuiltSite) -> None:
    """Deno itself: as many requests, and the program is not published."""
    edge(site, "deno")
    program, public, port = install(site.root, "deno"), site.root / "public", web.free_port()
    (site.root / "file-server.js").write_text(FILE_SERVER)
    (site.root / "map.json").write_text(json.dumps({"imports": {"jsr:@std/http@1/file-server": "./file-server.js"}}))
    options = ["--no-lock", "--allow-all", "--import-map", "map.json"]  # below /dev, too, where tests may be
    environment = {
        **os.environ,
        "ADAPTC_LEVEL": "extreme /deep/=off",
        "DENO_SERVE_ADDRESS": f"tcp:127.0.0.1:{port}",
        "DENO_DIR": str(site.root / "deno"),
    }
    command = [program, "run", *options, public / "adaptc-deno.js"]
    with subprocess.Popen(command, cwd=site.root, env=environment) as running:
        try:
            server = web.Server(port, running.pid, site.root)
            assert_answers_by_rules(site, server, BY_RULES)
            assert server.get("/adaptc-deno.js").status == 404
            assert server.get("/nothing.html").status == 404
        finally:
            running.terminate()


def answers(server: web.Server) -> bool:
    try:
        return server.get("/").status == 200
    except OSError:
        return False
