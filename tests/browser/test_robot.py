"""The robot that acts on a page: the same each time, and faults that only an action shows are found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count

import pytest

from tests.sites.shown import URL, side_by_side, site

from adaptc.browser.answers import Answer, Server
from adaptc.browser.chromium import Chromium
from adaptc.browser.robot import Act, Performance, Robot, acted_differences, perform

pytestmark = pytest.mark.chromium
ROBOT, LONG = Robot(14, seed=2), Robot(30, seed=2)
PAGE = """<!doctype html><title>t</title><style>
.menu{display:none}.open .menu{display:block}button:hover{padding:9px}:checked+p{color:red}.seen{margin-left:5px}
.row{cursor:pointer}div{height:30px}</style>
<nav id=n><button onclick="n.classList.toggle('open')">Menu</button>
<ul class=menu><li><a href=/other.html>Other</a></ul></nav>
<div class=row>Row</div><label><input type=checkbox>Check<p>checked</p></label>
<form action=""><input name=q placeholder=Find><select><option>one<option>two</select><button>Send</button></form>
<p id=late>late</p><p id=log>none</p><div style="height:900px"></div><p id=below>below</p>
<script>
document.querySelector('.row')?.addEventListener('click', () => {
  setTimeout(() => { late.textContent = 'row ' + Math.random() }, 300)
})
document.querySelector('input[name=q]').addEventListener('keyup', (e) => { log.textContent += e.key })
document.querySelector('select').addEventListener('change', (e) => { log.textContent += e.target.value })
new IntersectionObserver(([e]) => below.classList.toggle('seen', e.isIntersecting)).observe(below)
addEventListener('keydown', (e) => { if (e.key === 'Escape') n.className = '' })
</script>"""


@dataclass(frozen=True)
class Play:
    """A robot on a page: on the original it chooses its actions, on a level it does ``acts``."""

    server: Server | str
    robot: Robot = ROBOT
    acts: tuple[Act, ...] | None = None

    async def __call__(self, browser: Chromium) -> Performance:
        server = site({"index.html": self.server}) if isinstance(self.server, str) else self.server
        return await perform(browser, server, URL, 1280, self.robot, self.acts)


def performances(program: str, *plays: Play) -> list[Performance]:
    return side_by_side(program, plays)


@dataclass(frozen=True)
class Originals:
    """What robots do on the page, which takes seconds: twice the same, another one, and one that does more."""

    first: Performance
    again: Performance
    other: Performance
    long: Performance


@pytest.fixture(scope="module")
def originals(chromium: str) -> Originals:
    return Originals(
        *performances(chromium, Play(PAGE), Play(PAGE), Play(PAGE, Robot(14)), Play(PAGE, LONG)),
    )


def difference(original: Performance, level: Performance) -> list[str]:
    return [each.message for each in acted_differences([original], level)]


def test_actions_are_the_same_in_each_run_and_other_ones_by_another_seed(originals: Originals) -> None:
    assert originals.first == originals.again
    assert len(originals.first.acts) == ROBOT.count
    assert {act.kind for act in originals.first.acts} >= {"click", "hover", "type", "scroll"}
    assert originals.other.acts != originals.first.acts


def test_what_actions_do_is_seen(originals: Originals) -> None:
    views = [view for view in originals.long.views if view is not None]
    texts = " ".join(view.text for view in views)
    assert all(words in texts for words in ("Other", "row 0.", "noneab", "two"))
    assert {view.names for view in views} != {("0", "0")}
    assert any(view.departure == f"{URL}?q=ab+12" or view.departure == f"{URL}?q=" for view in views)


# It answers after 0.15 s of work, which takes none of the time of the page, and then sets a timer
ANSWERING = """<!doctype html><title>t</title><button>Answer</button><p id=said>nothing</p><script>
const work = 'onmessage = () => { const end = performance.now() + 150; while (performance.now() < end); postMessage(0)}'
const worker = new Worker(URL.createObjectURL(new Blob([work])))
worker.onmessage = () => setTimeout(() => { said.textContent = 'answered' }, 300)
document.querySelector('button').onclick = () => worker.postMessage(0)
</script>"""


def test_a_page_has_time_to_answer_an_action_by_work_that_takes_none_of_its_own(chromium: str) -> None:
    (played,) = performances(chromium, Play(ANSWERING, acts=(Act("click", "button||Answer|"),)))
    assert [view and view.text for view in played.views] == ["Answer nothing", "Answer answered"]


FAULTS = {
    "a rule is missing": (".open .menu{display:block}", "", "text"),
    "a rule of a state is missing": ("button:hover{padding:9px}", "", "“"),
    "a rule of what scrolling brings is missing": (".seen{margin-left:5px}", "", "“below”"),
    "a handler is missing": ("log.textContent += e.key", "", "another text"),
    "a timer comes to nothing": ("late.textContent = 'row ' + Math.random()", "", "another text"),
    "a handler fails": ("log.textContent += e.key", "gone()", "error"),
    "a link leads elsewhere": ("/other.html", "/wrong.html", "control a||Other|/other.html"),
    "a form is sent elsewhere": ('action=""', 'action="/wrong"', "it leaves for"),
    "a control is covered": ("<p id=late>", "<div style='position:fixed;inset:0'></div><p id=late>", ""),
    "a control is gone": ("<div class=row>Row</div>", "<div>Row</div>", "control div||Row|"),
}


def test_faults_are_found_and_nothing_in_the_same_page(chromium: str, originals: Originals) -> None:
    assert all(before in PAGE for before, _, _ in FAULTS.values())
    same = PAGE.replace("<title>t", "<title>other").replace("<p id=late>late", "<p id=late>la<!-- a comment -->te")
    pages = {name: PAGE.replace(before, after) for name, (before, after, _) in FAULTS.items()} | {"none": same}
    levels = performances(chromium, *(Play(page, LONG, originals.long.acts) for page in pages.values()))
    found = {name: difference(originals.long, level) for name, level in zip(pages, levels, strict=True)}
    assert found.pop("none") == []
    for name, (_, _, words) in FAULTS.items():
        (message,) = found[name]
        assert words in message, name
        assert re.match(r"(?:after \d+ actions, the last: \w+|before any action)", message)


def test_what_the_original_does_not_keep_is_not_asked_for(chromium: str, originals: Originals) -> None:
    numbers = count()

    def server(url: str) -> Answer | None:
        return site({"index.html": PAGE.replace("'row '", f"'row {next(numbers)} '")})(url)

    *loads, level = performances(chromium, *[Play(server, LONG, originals.long.acts)] * 3)
    assert acted_differences(loads[:1], level) != ()
    assert acted_differences(loads, level) == ()


def test_a_page_cannot_be_left_nor_loaded_again(chromium: str) -> None:
    page = (
        "<!doctype html><a href=''>again</a><a href=/x.html>away</a><button onclick='location.reload()'>anew</button>"
    )
    (done,) = performances(chromium, Play(page, Robot(20)))
    assert len(done.views) == 21
    assert {view.departure for view in done.views if view is not None} >= {URL, f"{URL}x.html"}


def test_there_is_nothing_to_go_back_to(chromium: str) -> None:
    page = (
        "<!doctype html><a href='javascript:history.back()'>back</a><button onclick='history.go(-1)'>further</button>"
    )
    (done,) = performances(chromium, Play(page, Robot(8)))
    assert len(done.views) == 9 and all(view is not None and "back" in view.text for view in done.views)


ROUTED = """<!doctype html><nav><a href=/b/>B</a></nav><p id=words>Page A</p>
<script>document.querySelector('a').addEventListener('click', (event) => {
  event.preventDefault()
  history.pushState({}, '', event.target.href)
  words.textContent = 'Page B'
})</script>"""


def test_a_page_that_a_router_shows_may_be_loaded_in_place_of_that(chromium: str) -> None:
    (original,) = performances(chromium, Play(ROUTED, Robot(40)))
    assert len(original.acts) < 40  # what a router shows is another page
    assert original.acts[-1].kind == "follow"
    levels = (
        ROUTED.partition("<script>")[0],
        ROUTED.replace("'Page B'", "'Page C'"),
        ROUTED.partition("<script>")[0].replace("<a", "<a onclick=\"location='/c/'; return false\""),
        ROUTED.partition("<script>")[0].replace("<a", "<a onclick='return false'"),
    )
    found = performances(chromium, *(Play(level, Robot(40), original.acts) for level in levels))
    assert [bool(acted_differences([original], each)) for each in found] == [False, True, True, True]


@pytest.mark.parametrize(("words", "differs"), [("Page A", False), ("Menu", True)])
def test_a_page_may_be_loaded_again_where_a_router_shows_it_anew(chromium: str, words: str, differs: bool) -> None:
    page = ROUTED.replace("/b/", "/").replace("Page B", words)
    (original,) = performances(chromium, Play(page, Robot(20)))
    acts = [next(act for act in original.acts if act.kind == "follow")]
    again, level = performances(chromium, Play(page, acts=acts), Play(page.partition("<script>")[0], acts=acts))
    assert bool(acted_differences([again], level)) is differs


def test_acts_are_sentences() -> None:
    assert str(Act("click", "a||Read more|/news/", 1)) == "click a “Read more”"
    assert str(Act("type", "input|text|Find|", 0, "ab")) == "type ab input “Find”"
    assert str(Act("scroll", value="0.5")) == "scroll 0.5"


def test_open_shadow_roots_are_acted_on(chromium: str) -> None:
    page = """<!doctype html><x-box></x-box><script>customElements.define('x-box', class extends HTMLElement {
      connectedCallback() { const root = this.attachShadow({mode: 'open'})
        root.innerHTML = '<button>In</button><p>shut</p>'
        root.querySelector('button').onclick = () => { root.querySelector('p').textContent = 'opened' } } })</script>"""
    (opened,) = performances(chromium, Play(page, Robot(6)))
    assert "opened" in str(opened.views[-1])
    (shut,) = performances(chromium, Play(page.replace("'opened'", "'shut'"), Robot(6), opened.acts))
    (message,) = difference(opened, shut)
    assert "“" in message or "text" in message


# A page that says what theme and which keys it is for once its script ran, which waits until somebody presses a button
LABELS = """<!doctype html><button>Menu</button><button id=theme>Light</button><main><p>Words</p></main>
<header><input placeholder=Find></header><script type=adaptc-later></script><script>
const run = () => {
  theme.textContent = 'System'
  document.querySelector('input').insertAdjacentHTML('afterend', '<kbd>Ctrl K</kbd>')
  theme.onclick = () => { theme.textContent = 'Dark' }
  document.querySelector('script').type = ''
}
</script>"""
WOKEN = LABELS + "<script>run()</script>"
WAITING = LABELS + "<script>addEventListener('click', run, {capture: true, once: true})</script>"


def test_labels_may_be_others_as_long_as_scripts_wait(chromium: str) -> None:
    (original,) = performances(chromium, Play(WOKEN, Robot(8, seed=1)))
    acts = (Act("hover", "button||System|", 0, "", 1), Act("click", "button||System|", 0, "", 1))
    assert {act.place for act in original.acts if act.key.startswith("button||System")} == {1}
    pages = {
        "waits": (WAITING, ""),
        "hears nothing": (WAITING.replace("addEventListener", "String"), "Dark”, without"),
        "has no other label": (WAITING.replace("Light", ""), "buttons and keys with a text"),
        "lacks words": (WAITING.replace("Words", "Other"), "before any action: another text: without “Words”"),
        "lacks a key of the text": (WAITING.replace("Words", "<kbd>Esc</kbd>"), "without “Words”"),
        "does not wait": (LABELS.replace("type=adaptc-later", ""), "System”, without"),
    }
    before, *levels = performances(
        chromium, *(Play(text, acts=acts) for text in (WOKEN, *(t for t, _ in pages.values())))
    )
    for (name, (_, words)), level in zip(pages.items(), levels, strict=True):
        found = " ".join(difference(before, level))
        assert words in found and bool(words) == bool(found), (name, found)


AT_ONCE = "<!doctype html><title>t</title><button>Go</button><script>console.error('no year')</script>"
LATE = AT_ONCE.replace(
    "console.error('no year')", "addEventListener('click', () => console.error('no year'), {once: true})"
)


def test_an_error_that_the_original_made_at_once_may_come_late_but_once(chromium: str) -> None:
    acts = (Act("click", "button||Go|", 0, "", 1),)
    often = LATE.replace("console.error('no year')", "[1, 2].map(() => console.error('no year'))")
    original, late, more = performances(chromium, *(Play(text, acts=acts) for text in (AT_ONCE, LATE, often)))
    assert not difference(original, late)
    assert "1 error more in the console: no year" in difference(original, more)[0]


# A page whose last line a margin for scrolling moves, between areas that only scroll
MARGIN = """<!doctype html><title>t</title><style>area-of-code{display:block;height:20px;overflow:auto}</style>
<area-of-code tabindex=0 role=region>long<br>code</area-of-code><p style="height:3000px">far<p>
<button onclick="here.textContent = scrollY" style="">Where</button><p id=here><p style="height:3000px">"""


def test_areas_that_scroll_are_no_controls_and_margins_move_no_target(chromium: str) -> None:
    (original,) = performances(chromium, Play(MARGIN))
    assert {act.key.split("|")[0] for act in original.acts} <= {"button", ""}
    moved = MARGIN.replace('style=""', 'style="scroll-margin-top: 200px"')
    late = MARGIN.replace("scrollY", "scrollY + 1")
    level, other = performances(chromium, Play(moved, ROBOT, original.acts), Play(late, ROBOT, original.acts))
    assert not difference(original, level)
    assert difference(original, other)
