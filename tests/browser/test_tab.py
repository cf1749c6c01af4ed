"""A tab of the browser: what a page may do, what is seen of it, and what happens when it misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import select
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from tests.servers.chromium import own_chromium
from tests.sites.shown import URL, site, visit, visits
from tests.waiting import PATIENCE

from adaptc.browser import find_chromium, lacking, names_tried
from adaptc.browser.answers import Answer
from adaptc.browser.chromium import Chromium, _end_tasks, _unshare, in_chromium, one_driver
from adaptc.browser.tab import BrowserError, Load, Tab

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = pytest.mark.chromium

RED, BLUE = (255, 0, 0), (0, 0, 255)
DOT = bytes.fromhex("47494638396101000100800000ff0000ffffff2c00000000010001000002024401003b")


async def text(tab: Tab) -> str:
    return str(await tab.run("() => document.body.innerText"))


# ---- loading


def test_every_request_is_answered_here(chromium: str) -> None:
    asked = []

    def server(url: str) -> Answer | None:
        asked.append(url)
        body = b"<body style='margin:0;background:red'><img src=https://example.com/x.png><img src=http://127.0.0.1:1/>"
        return Answer(body, "text/html") if url == URL else None

    async def look(tab: Tab) -> tuple[bytes, list[Load]]:
        return await tab.picture(200), tab.seen.loads

    png, loads = visit(chromium, server, look)
    seen = Image.open(io.BytesIO(png)).convert("RGB")
    assert (seen.size, seen.getpixel((299, 199))) == ((300, 200), RED)
    assert set(asked) >= {URL, "https://example.com/x.png", "http://127.0.0.1:1/"}
    assert Load("https://example.com/x.png", "image", 404, 0) in loads
    assert (loads[0].url, loads[0].kind, loads[0].status) == (URL, "document", 200)


def test_an_answer_to_a_question_for_the_head_of_a_page_has_no_bytes(chromium: str) -> None:
    page = "<script>fetch('/', { method: 'HEAD' }).then((answer) => { document.title = answer.status })</script>"

    async def work(browser: Chromium) -> tuple[list[int], str]:
        async with browser.tab(site({"index.html": page}), 400, 300) as tab:
            await tab.load(URL)
            return [load.size for load in tab.seen.loads if load.url == URL], await tab.run("() => document.title")

    assert in_chromium(chromium, work) == ([len(page), 0], "200")


def test_each_load_of_a_page_is_the_same(chromium: str) -> None:
    page = "<body><script>document.body.append(Math.random(), ' ', new Date().getFullYear())</script>"
    first, second = visits(chromium, [page] * 2, text)
    assert first == second
    assert first.endswith("2023")


def test_the_clock_goes_on_with_timers_and_frames_only(chromium: str) -> None:
    page = """<body><script>
      const begun = Date.now(), late = () => document.body.append(' ', Date.now() - begun)
      while (performance.now() < 30);
      document.body.append(Date.now() - begun)
      setTimeout(late, 70)
      let rounds = 0
      const timer = setInterval(() => { if (++rounds === 3) { late(); clearInterval(timer) } }, 40)
      document.body.append(new Date(0).getTime(), new Date() - begun, Date().length > 9)
    </script>"""
    assert visit(chromium, page, text).split() == ["000true", "70", "120"]


def test_a_loop_that_waits_for_the_clock_ends(chromium: str) -> None:
    page = "<body><script>const end = Date.now() + 50; while (Date.now() < end); document.write('ended')</script>"
    assert visit(chromium, page, text) == "ended"


def test_pages_get_more_time_where_opening_a_tab_took_longer(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def patience(tab: Tab) -> float:
        return tab.patience

    slowest = {}
    for seconds in (100.0, 0.0001):
        monkeypatch.setattr("adaptc.browser.tab._OPENING", seconds)
        slowest[seconds] = visit(chromium, "<body>", patience)
    assert slowest == {100.0: 45.0, 0.0001: 360.0}


def test_what_a_page_loads_late_is_waited_for(chromium: str) -> None:
    page = """<body><div style="height:3000px"></div><p id=p>early</p><script>
      const load = () => fetch('a.js').then(r => r.text()).then(t => p.innerText = t)
      new IntersectionObserver(seen => { if (seen[0].isIntersecting) load() }).observe(p)</script>"""
    assert visit(chromium, site({"index.html": page, "a.js": "late"}), text) == "late"


def test_an_answer_of_a_worker_is_waited_for(chromium: str) -> None:
    """It takes the processor's time, not the page's."""
    page = """<body><p id=p>asked</p><script>
      const work = `onmessage = () => {
        const end = Date.now() + 900
        while (Date.now() < end);
        postMessage('answered')
      }`
      const worker = new Worker(URL.createObjectURL(new Blob([work])))
      worker.onmessage = ({ data }) => { p.textContent = data }
      worker.postMessage(1)</script>"""
    assert visit(chromium, site({"index.html": page}), text) == "answered"


LATE = """<body><p id=p></p><script>
function note(text) { p.append(text + ' ') }
setTimeout(() => { note('second'); document.body.append(new Image()); document.images[0].src = 'dot.gif' }, 1000)
setTimeout(() => fetch('a.js').then((reply) => reply.text()).then(note), 1900)
setTimeout("note('string')", 300)
setTimeout(() => note('never'), 2000)
const begun = performance.now()
while (performance.now() < begun + BUSY);
setTimeout(() => note('quick'), 260)
</script><iframe srcdoc="<script>setTimeout(() => parent.note('frame'), 1500)</script>"></iframe>"""


def test_what_a_page_does_in_its_first_two_seconds_is_seen(chromium: str) -> None:
    async def look(tab: Tab) -> tuple[str, list[str]]:
        return await text(tab), [load.url for load in tab.seen.loads]

    pages = (LATE.replace("BUSY", busy) for busy in ("0", "700"))
    files: dict[str, str | bytes] = {"a.js": "fetched", "dot.gif": DOT}
    for seen, urls in visits(chromium, (site({**files, "index.html": page}) for page in pages), look):
        assert seen.split() == ["quick", "string", "second", "frame", "fetched"]
        assert URL + "dot.gif" in urls


SCROLLED = """<!doctype html><div style="height:3000px"></div><p id=below>below</p><script>
new IntersectionObserver(([e]) => below.classList.toggle('seen', e.isIntersecting)).observe(below)</script>"""
# How often what observes the page had not been told after it was scrolled down or up, of 20 times each
UNTOLD = """async (_, {{ {wait} }}) => {{
  let untold = 0
  for (let i = 0; i < 40; i++) {{
    scrollTo({{ top: i % 2 ? 0 : 9999, behavior: 'instant' }})
    await {wait}()
    if (document.querySelector('#below').classList.contains('seen') === !!(i % 2)) untold++
  }}
  return untold
}}"""


def test_what_observes_a_page_was_told_of_the_frame_that_is_shown(chromium: str) -> None:
    async def look(tab: Tab) -> list[int]:
        return [await tab.run(UNTOLD.format(wait=wait)) for wait in ("shown", "drawn")]

    assert visit(chromium, site({"index.html": SCROLLED}), look) == [0, 0]


def test_timers_and_loads_without_end_are_ended(chromium: str) -> None:
    page = """<body><p id=p>0</p><script>
      setInterval(() => p.textContent = +p.textContent + 1, 250)
      setInterval(() => fetch('gone.js'), LOADING)
    </script>"""

    async def look(tab: Tab) -> str:
        await asyncio.sleep(0.3)
        return await text(tab), tab.seen.is_late

    # of 40, 1 and 20 steps, those in which it loads something three times
    still, loading = visits(chromium, (page.replace("LOADING", each) for each in ("1e9", "300")), look)
    assert still == (str((40 + 1 + 20) // 5), False)
    assert loading == (str((3 * 40 + 1 + 3 * 20) // 5), False)


MEASURED = """<!DOCTYPE html><meta name=viewport content="width=device-width"><body style="margin:0">
<img srcset="small.gif 300w, large.gif 900w" sizes=100vw><div id=box style="margin-top:900px;height:77.5px">Box</div>
<img id=late src=late.gif loading=lazy style="margin-top:5000px"><script>
const note = (...values) => { document.body.dataset.notes += ' ' + values }
const { x, width, height, scale } = visualViewport
note(innerWidth, innerHeight, devicePixelRatio, screen.width, x, width, height, scale)
new IntersectionObserver((found) => found.forEach((one) => {
  note(one.isIntersecting, one.intersectionRatio, one.rootBounds.width, one.boundingClientRect.height)
})).observe(box)
</script>"""


@pytest.mark.parametrize("width", [300, 800])
def test_a_page_sees_no_difference_in_a_tab_that_is_not_drawn(chromium: str, width: int) -> None:
    async def look(tab: Tab) -> tuple[object, list[Load]]:
        script = """() => {
          const box = () => document.getElementById('box').getBoundingClientRect().toJSON()
          const first = [document.body.dataset.notes, document.images[0].currentSrc, box()]
          scrollTo(0, 900.5)
          return [...first, scrollY, document.elementFromPoint(5, 60).id, box()]
        }"""
        return await tab.run(script), tab.seen.loads

    server = site({"index.html": MEASURED, **{f"{name}.gif": DOT for name in ("small", "large", "late")}})
    drawn, sketched = (visit(chromium, server, look, width, is_drawn=is_drawn) for is_drawn in (True, False))
    assert drawn == sketched
    assert drawn[0][4] == "box"
    assert URL + "late.gif" in [load.url for load in drawn[1]]


def test_an_animated_image_is_shown_at_its_first_frame(chromium: str) -> None:
    gif = io.BytesIO()
    frames = [Image.new("RGB", (300, 200), colour) for colour in (RED, BLUE)]
    frames[0].save(gif, "GIF", save_all=True, append_images=frames[1:], duration=20)
    files = {
        "index.html": "<!DOCTYPE html><title>t</title><body style='margin:0'><img src=a.gif>",
        "a.gif": gif.getvalue(),
    }
    png = visit(chromium, site(files), lambda tab: tab.picture(200))
    assert Image.open(io.BytesIO(png)).convert("RGB").getpixel((150, 100)) == RED


def test_what_is_fetched_for_later_pages_gives_a_page_no_more_time(chromium: str) -> None:
    page = """<body><script>
      let ticks = 0
      setInterval(() => { document.body.textContent = ++ticks }, 500)
      setTimeout(() => { const link = document.createElement('link'); link.rel = 'RELATION'; link.href = 'a.js'
        link.as = 'script'; document.head.append(link) }, 700)
    </script>"""
    files = {"a.js": "", "index.html": ""}
    pages = (page.replace("RELATION", relation) for relation in ("next", "prefetch", "preload"))
    following, prefetch, preload = visits(chromium, (site({**files, "index.html": each}) for each in pages), text)
    assert prefetch == following
    assert int(preload) > int(following)


# ---- pages that misbehave


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser may take its time to answer; what never comes, as the end of endless requests, is waited for briefly.

    A page that asks for something every 20 ms asks 400 times in the usual eight seconds: on a busy machine the browser
    counted as hung before the last of these were answered. A page that leaves while it loads is never loaded.
    """
    monkeypatch.setattr("adaptc.browser.tab._ANSWER", PATIENCE)
    monkeypatch.setattr("adaptc.browser.tab._IDLE", 1.0)
    monkeypatch.setattr("adaptc.browser.tab._LOAD", 5.0)


SCRIPTS = (
    "alert(1); confirm(2); prompt(3)",
    "location = 'https://example.com/'",
    "setTimeout(() => location.href = 'other.html', 10)",
    "window.open('other.html')",
    "onbeforeunload = () => 'stay'",
    "setInterval(() => fetch('gone.js'), 20)",
    "const f = () => requestAnimationFrame(f); f()",
    "Promise = JSON = setTimeout = undefined; Document.prototype.dispatchEvent = null",
    "navigator.serviceWorker.register('a.js')",
    "Object.assign(document.createElement('a'), { href: 'other.html', download: '' }).click()",
    "new Audio('other.html').play(); new AudioContext().resume()",
    "new WebSocket('ws://127.0.0.1:1/')",
    "document.body.animate([{ opacity: 1 }], { duration: 9, iterations: Infinity }).playbackRate = 0",
)


@pytest.mark.usefixtures("unhurried")
def test_a_page_stays_and_can_be_looked_at(chromium: str) -> None:
    pages = (f"<body><p>words</p><script>{script}</script>" for script in SCRIPTS)
    seen = visits(chromium, (site({"index.html": page, "other.html": "<body>other"}) for page in pages), text)
    assert {script: said for script, said in zip(SCRIPTS, seen, strict=True) if said != "words"} == {}


@pytest.mark.usefixtures("unhurried")
def test_where_a_page_wanted_to_go_and_what_it_said_is_known(chromium: str) -> None:
    page = (
        "<body><script>console.error('no'); setTimeout(() => location = '/away.html'); x.y</script><img src=gone.gif>"
    )

    async def seen(tab: Tab) -> tuple[list[str], str | None]:
        return tab.seen.errors, tab.seen.departure

    assert visit(chromium, page, seen) == (["no", "x is not defined"], URL + "away.html")


def test_a_page_that_never_ends_is_an_error(chromium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adaptc.browser.tab._ANSWER", 1.0)
    monkeypatch.setattr("adaptc.browser.tab._LOAD", 1.0)
    with pytest.raises(BrowserError, match="it does not answer"):
        visit(chromium, "<body><script>for (;;);</script>", text)


def test_a_page_that_crashes_costs_no_other_page(chromium: str) -> None:
    async def work(browser: Chromium) -> tuple[str, str]:
        served = site({"index.html": "<body>fine"})
        async with browser.tab(served, 300, 200) as tab:
            await tab.open(URL)
            with pytest.raises(BrowserError) as crash:
                await _crash(tab)
        async with browser.tab(served, 300, 200) as tab:
            await tab.load(URL)
            return str(crash.value), await text(tab)

    said, seen = in_chromium(chromium, work)
    assert "crash" in said
    assert seen == "fine"


async def _crash(tab: Tab) -> None:
    crash = asyncio.ensure_future(tab.send("Page.crash"))
    while not tab.seen.is_crashed:
        await asyncio.sleep(0.01)
    crash.cancel()
    await tab.idle(5)


# ---- the browser


def test_the_browser_is_found_by_name_path_and_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, on_path = tmp_path / "mine", tmp_path / "bin/chromium"
    on_path.parent.mkdir()
    for program in (named, on_path):
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.delenv("CHROME_PATH", raising=False)
    assert find_chromium() == str(on_path)
    assert find_chromium("chromium") == str(on_path)
    assert find_chromium(str(named)) == str(named)
    assert find_chromium("gone") is None
    assert names_tried().startswith("chromium-headless-shell, ")
    assert names_tried("gone") == "gone"
    monkeypatch.setenv("CHROME_PATH", str(named))
    assert find_chromium() == names_tried() == str(named)
    assert lacking() == ""
    assert lacking("gone") == "there is no Chromium"
    monkeypatch.setitem(sys.modules, "playwright", None)
    assert lacking() == "Playwright is not installed (pip install 'adaptc[browser]')"


def test_a_browser_that_cannot_be_started_says_so() -> None:
    with pytest.raises(BrowserError, match="gone/chromium"):
        visit("/gone/chromium", "", text)


@pytest.mark.parametrize("unshare", [(), ("env",)])
@pytest.mark.parametrize(("user", "sandboxed"), [(1000, [True, False]), (0, [False])])
def test_the_browser_runs_in_its_sandbox_unless_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, sandboxed: list[bool], unshare: tuple[str, ...]
) -> None:
    """And in a network of its own, if the system has any, before it is tried without."""
    monkeypatch.setattr("os.geteuid", lambda: user)
    monkeypatch.setattr("adaptc.browser.chromium._unshare", lambda: unshare)
    if unshare:
        sandboxed = [each for each in sandboxed for _ in range(2)]
    starts = arguments_of_starts(tmp_path, reaches_loopback=False)
    assert ["--no-sandbox" not in arguments for arguments in starts] == sandboxed


@pytest.mark.parametrize(("reaches", "excluded"), [(False, ""), (True, ", EXCLUDE 127.0.0.1")])
def test_the_browser_knows_no_host(tmp_path: Path, reaches: bool, excluded: str) -> None:
    for arguments in arguments_of_starts(tmp_path, reaches_loopback=reaches):
        assert "--webrtc-ip-handling-policy=disable_non_proxied_udp" in arguments
        assert f"--host-resolver-rules=MAP * ~NOTFOUND{excluded}" in arguments
        assert "--mute-audio" in arguments


def arguments_of_starts(directory: Path, *, reaches_loopback: bool) -> list[list[str]]:
    """Start a browser that writes down its arguments and ends; return those of each start."""
    program = directory / "chromium"
    program.write_text(f'#!/bin/sh\nprintf "%s\\t" "$@" >> {directory}/log\necho >> {directory}/log\nexit 1\n')
    program.chmod(0o755)

    async def work(browser: Chromium) -> None:
        await browser.start()

    with pytest.raises(BrowserError):
        in_chromium(str(program), work, reaches_loopback=reaches_loopback)
    return [line.split("\t") for line in (directory / "log").read_text().splitlines()]


REACHING = """<link rel=preconnect href=http://{host}/><link rel=dns-prefetch href=//{host}/><body><p>words</p>
<img src=http://{host}/a.png><iframe src=http://{host}/f></iframe><script src=http://{host}/a.js></script><script>
  fetch('http://{host}/b', {{ mode: 'no-cors' }}).catch(() => 0)
  navigator.sendBeacon('http://{host}/c', 'x')
  new WebSocket('ws://{host}/d')
  new EventSource('http://{host}/e')
  const turn = {{ urls: 'turn:{host}?transport=tcp', username: 'u', credential: 'p' }}
  const peer = new RTCPeerConnection({{ iceServers: [turn] }})
  peer.createDataChannel('x')
  peer.createOffer().then((offer) => peer.setLocalDescription(offer))
  new Worker(URL.createObjectURL(new Blob(["fetch('http://{host}/g', {{ mode: 'no-cors' }})"])))
</script>"""


def test_no_page_reaches_a_server(chromium: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        page = REACHING.format(host=f"127.0.0.1:{listener.getsockname()[1]}")
        assert visit(chromium, page, text) == "words"
        with pytest.raises(BlockingIOError):
            listener.accept()


# What a page may try, each by itself; HOST stands for an address with a port
EVERYTHING = """<!doctype html><body><p>words</p><script>
document.querySelector('p').append(' ', navigator.onLine)
for (const host of HOSTS) {
  const attempt = (work) => { try { Promise.resolve(work()).catch(() => 0) } catch { /* refused */ } }
  const peer = (servers, candidate) => attempt(async () => {
    const iceServers = servers.map((urls) => ({ urls, username: 'u', credential: 'p' }))
    const peer = new RTCPeerConnection({ iceServers })
    peer.createDataChannel('x')
    await peer.setLocalDescription(await peer.createOffer())
    if (!candidate) return
    const sdp = peer.localDescription.sdp.replace('actpass', 'active')
    await peer.setRemoteDescription({ type: 'answer', sdp })
    await peer.addIceCandidate({ candidate, sdpMid: '0', sdpMLineIndex: 0 })
  })
  const [address, port] = host.split(':')
  peer(['stun:' + host])
  peer(['turn:' + host + '?transport=udp', 'turn:' + host + '?transport=tcp', 'turns:' + host + '?transport=tcp'])
  peer([], 'candidate:1 1 udp 2122260223 ' + address + ' ' + port + ' typ host')
  attempt(() => fetch('http://' + host + '/', { mode: 'no-cors', keepalive: true }))
  attempt(() => new WebSocket('ws://' + host + '/'))
  attempt(() => new WebSocket('wss://' + host + '/'))
  attempt(() => new EventSource('http://' + host + '/'))
  attempt(() => new WebTransport('https://' + host + '/').ready)
  attempt(() => navigator.sendBeacon('http://' + host + '/', 'x'))
  attempt(() => window.open('http://' + host + '/'))
  const inner = "const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:" + host + "' }] });" +
    "c.createDataChannel('x'); c.createOffer().then((offer) => c.setLocalDescription(offer))"
  const frame = document.body.appendChild(document.createElement('iframe'))
  frame.srcdoc = '<script>' + inner + '</' + 'script>'
  const worker = "fetch('http://" + host + "/').catch(() => 0); new WebSocket('wss://" + host + "/');" +
    "new WebTransport('https://" + host + "/').ready.catch(() => 0)"
  attempt(() => new Worker(URL.createObjectURL(new Blob([worker]))))
  for (const rel of ['prefetch', 'preconnect', 'dns-prefetch', 'prerender', 'modulepreload', 'preload']) {
    const link = document.head.appendChild(document.createElement('link'))
    Object.assign(link, { rel, as: 'script', href: 'http://' + host + '/' + rel })
  }
  const rules = document.createElement('script')
  rules.type = 'speculationrules'
  rules.text = JSON.stringify({ prefetch: [{ source: 'list', urls: ['http://' + host + '/s'] }] })
  document.head.append(rules)
  const tags = '<img src=U><object data=U></object><embed src=U><video src=U></video><iframe src=U></iframe>'
  document.body.insertAdjacentHTML('beforeend', tags.replaceAll('U', 'http://' + host + '/'))
}
</script>"""


def own_addresses() -> list[str]:
    """Return addresses of this machine that are not the usual one of loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
            outward = [probe.getsockname()[0]]
        except OSError:
            outward = []
    return ["127.0.0.2", *outward]


@pytest.mark.parametrize("has_namespaces", [True, False])
def test_nothing_of_a_page_arrives_at_another_address(
    chromium: str, has_namespaces: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page sent a file's content by WebRTC. Neither by the network that the browser lacks, nor by its switches."""
    if not has_namespaces:
        monkeypatch.setattr("adaptc.browser.chromium._unshare", tuple)
    with contextlib.ExitStack() as stack:
        listeners, hosts = [], []
        for address in own_addresses():
            stream = stack.enter_context(socket.create_server((address, 0)))
            packets = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            packets.bind(stream.getsockname())
            listeners += [stream, packets]
            hosts.append("{}:{}".format(*stream.getsockname()))

        async def look(tab: Tab) -> tuple[str, bool]:
            await asyncio.sleep(1.5)  # ICE sends its first packets after half a second
            return await text(tab)

        page = EVERYTHING.replace("HOSTS", json.dumps(hosts))
        assert visit(chromium, page, look) == "words true"
        assert select.select(listeners, [], [], 0.5)[0] == []


def test_the_browser_has_a_network_of_its_own_where_the_system_has_them(chromium: str) -> None:
    async def work(browser: Chromium) -> bool:
        await browser.start()
        return browser.has_own_network

    assert in_chromium(chromium, work) is bool(_unshare())
    assert in_chromium(chromium, work, reaches_loopback=True) is False


def test_the_browser_ends_with_the_work(chromium: str) -> None:
    started = []

    async def work(browser: Chromium) -> str:
        started.append(await browser.start())
        async with browser.tab(site({"index.html": "<body>words"}), 300, 200) as tab:
            await tab.load(URL)
            return await text(tab)

    with own_chromium():
        assert [in_chromium(chromium, work) for _ in range(2)] == ["words"] * 2
    first, second = started
    assert first is not second
    assert not first.is_connected() and not second.is_connected()


def test_browsers_may_share_their_driver(chromium: str) -> None:
    """Each is a browser of its own, and what one has not ended does not outlast it."""
    left = []

    async def work(browser: Chromium) -> tuple[object, Browser]:
        left.append(asyncio.ensure_future(asyncio.sleep(1000)))
        started = await browser.start()
        async with browser.tab(site({"index.html": "<body>words"}), 300, 200) as tab:
            await tab.load(URL)
            assert await text(tab) == "words"
        return started.browser_type, started

    with own_chromium():
        apart = [in_chromium(chromium, work)[0] for _ in range(2)]
        with one_driver():
            (driver, first), (same, second) = (
                in_chromium(chromium, work, reaches_loopback=reaches) for reaches in (False, True)
            )
            with pytest.raises(BrowserError):
                in_chromium("/gone/chromium", work)
            assert in_chromium(chromium, work)[0] is driver
    assert driver is same and first is not second and apart[0] is not apart[1]
    assert not first.is_connected() and not second.is_connected()
    assert all(task.cancelled() for task in left)


def test_pages_done_are_said_in_the_thread_of_the_caller(chromium: str) -> None:
    import threading

    said = []

    async def work(browser: Chromium) -> None:
        browser.advance(2)

    in_chromium(chromium, work, lambda count: said.append((count, threading.current_thread())))
    assert said == [(2, threading.current_thread())]


def test_tasks_that_begin_when_the_browser_ends_are_ended_too() -> None:
    loop, tasks = asyncio.new_event_loop(), []

    async def forever(then: int) -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            if then:
                tasks.append(loop.create_task(forever(then - 1)))

    async def start() -> None:
        tasks.append(loop.create_task(forever(3)))
        await asyncio.sleep(0)

    loop.run_until_complete(start())
    _end_tasks(loop)
    loop.close()
    assert [task.cancelled() for task in tasks] == [True] * 4


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_request_that_cannot_be_answered_is_ended(is_gone: bool) -> None:
    from playwright.async_api import Error

    done = []

    class Request:
        """The request of a window that was opened and has no frame yet."""

        url = "https://other.invalid/"

        def is_navigation_request(self) -> bool:
            raise Error("Frame for this navigation request is not available")

    class Route:
        request = Request()

        async def abort(self) -> None:
            if is_gone:
                raise Error("Target page, context or browser has been closed")
            done.append("abort")

        async def fallback(self) -> None:
            done.append("fallback")

    tab = Tab.__new__(Tab)
    tab._active, tab._answers = 0, set()
    asyncio.run(tab._answer(Route()))  # type: ignore[arg-type]
    assert done == ["fallback" if is_gone else "abort"]
    assert (tab._active, tab._answers) == (0, set())


def test_what_fails_in_the_browser_fails_for_the_caller(chromium: str) -> None:
    async def work(browser: Chromium) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        in_chromium(chromium, work)
