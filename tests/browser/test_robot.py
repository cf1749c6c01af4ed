"""The robot that acts on a page: the same each time, and faults that only an action shows are found."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import count

import pytest

from tests.sites.shown import URL, site

from adaptc.browser.answers import Server
from adaptc.browser.chromium import Chromium, in_chromium
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


def performances(
    program: str, *servers: Server | str, robot: Robot = ROBOT, acts: tuple[Act, ...] | None = None
) -> list[Performance]:
    """Do ``acts`` on each server; or act on the first as the robot chooses, and do the same on the others."""

    async def work(browser: Chromium) -> list[Performance]:
        found: list[Performance] = []
        for server in servers:
            served = site({"index.html": server}) if isinstance(server, str) else server
            found.append(await perform(browser, served, URL, 1280, robot, found[0].acts if found else acts))
        return found

    return in_chromium(program, work)


@pytest.fixture(scope="module")
def original(chromium: str) -> Callable[[Robot], Performance]:
    """What a robot does on the page, which is the same each time, and takes seconds."""
    return cache(lambda robot: performances(chromium, PAGE, robot=robot)[0])


def messages(program: str, level: str, original: Performance, robot: Robot = ROBOT) -> list[str]:
    (acted,) = performances(program, level, robot=robot, acts=original.acts)
    return [each.message for each in acted_differences([original], acted)]


def test_actions_are_the_same_in_each_run_and_other_ones_by_another_seed(
    chromium: str, original: Callable[[Robot], Performance]
) -> None:
    runs = [original(ROBOT), *performances(chromium, PAGE)]
    assert runs[0] == runs[1]
    assert len(runs[0].acts) == ROBOT.count
    assert {act.kind for act in runs[0].acts} >= {"click", "hover", "type", "scroll"}
    assert performances(chromium, PAGE, robot=Robot(14))[0].acts != runs[0].acts


def test_what_actions_do_is_seen(original: Callable[[Robot], Performance]) -> None:
    views = [view for view in original(LONG).views if view is not None]
    texts = " ".join(view.text for view in views)
    assert all(words in texts for words in ("Other", "row 0.", "noneab", "two"))
    assert {view.names for view in views} != {("0", "0")}
    assert any(view.departure == f"{URL}?q=ab+12" or view.departure == f"{URL}?q=" for view in views)


def test_the_same_page_differs_in_nothing(chromium: str, original: Callable[[Robot], Performance]) -> None:
    level = PAGE.replace("<title>t", "<title>other").replace("<p id=late>late", "<p id=late>la<!-- a comment -->te")
    assert messages(chromium, level, original(ROBOT)) == []


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


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(chromium: str, original: Callable[[Robot], Performance], name: str) -> None:
    before, after, words = FAULTS[name]
    assert before in PAGE
    (message,) = messages(chromium, PAGE.replace(before, after), original(LONG), LONG)
    assert words in message
    assert re.match(r"(?:after \d+ actions, the last: \w+|before any action)", message)


def test_what_the_original_does_not_keep_is_not_asked_for(chromium: str) -> None:
    numbers = count()

    def server(url: str) -> object:
        return site({"index.html": PAGE.replace("'row '", f"'row {next(numbers)} '")})(url)

    originals = performances(chromium, server, server, robot=LONG)  # type: ignore[arg-type]
    (level,) = performances(chromium, server, robot=LONG)  # type: ignore[arg-type]
    assert acted_differences(originals[:1], level) != ()
    assert acted_differences(originals, level) == ()


def test_a_page_cannot_be_left_nor_loaded_again(chromium: str) -> None:
    page = (
        "<!doctype html><a href=''>again</a><a href=/x.html>away</a><button onclick='location.reload()'>anew</button>"
    )
    (done,) = performances(chromium, page, robot=Robot(20))
    assert len(done.views) == 21
    assert {view.departure for view in done.views if view is not None} >= {URL, f"{URL}x.html"}


def test_acts_are_sentences() -> None:
    assert str(Act("click", "a||Read more|/news/", 1)) == "click a “Read more”"
    assert str(Act("type", "input|text|Find|", 0, "ab")) == "type ab input “Find”"
    assert str(Act("scroll", value="0.5")) == "scroll 0.5"


def test_open_shadow_roots_are_acted_on(chromium: str) -> None:
    page = """<!doctype html><x-box></x-box><script>customElements.define('x-box', class extends HTMLElement {
      connectedCallback() { const root = this.attachShadow({mode: 'open'})
        root.innerHTML = '<button>In</button><p>shut</p>'
        root.querySelector('button').onclick = () => { root.querySelector('p').textContent = 'opened' } } })</script>"""
    (opened,) = performances(chromium, page, robot=Robot(6))
    assert "opened" in str(opened.views[-1])
    (message,) = messages(chromium, page.replace("'opened'", "'shut'"), opened, Robot(6))
    assert "“" in message or "text" in message
