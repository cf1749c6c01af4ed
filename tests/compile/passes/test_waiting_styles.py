"""used-styles on pages with scripts, in a browser: what waits comes when a name comes, in its place in the cascade."""

from __future__ import annotations

import random
from functools import partial

import pytest

from tests.sites.shown import URL, side_by_side, site, visits
from tests.sites.small import SmallSite

from adaptc.browser.chromium import Chromium
from adaptc.browser.tab import Tab
from adaptc.compile.passes.used_styles.rest import _filter, _is_in
from adaptc.compile.pipeline import BY_NAME, Step

STEPS = (Step(BY_NAME["used-styles"], {}),)
# Rules that wait, with names that the filter lists, or that begin as no name of the page does
FEW = ".late{color:#010203}#late{color:#010203}[data-late]{color:#010203}x-late{color:#010203}" + "".join(
    f".late .part{number}{{margin:{number}px {number * 7}px}}" for number in range(150)
)
MANY = FEW + "".join(
    f".w{number * 7919}q{{margin:{number}px}}.icon-n{number}{{top:{number}px}}" for number in range(300)
)
MOTION = "@keyframes Turn{to{color:#010203}}.spun{animation:Turn 1s}"
BODY = "<form><input name=children><input name=attributes><input name=id></form><p class='a icon-n7'>text"
BOXES = "<dialog><div id=filled></div></dialog><div popover><b id=kept></b></div><dialog open><i id=open></i></dialog>"

LOADED = """async () => {
    await new Promise((done) => setTimeout(() => requestAnimationFrame(done)))
    for (const link of document.querySelectorAll('link[rel]'))
        if (!link.sheet) await new Promise((done) => { link.onload = done })
}"""
ACTIONS = {
    "p.className = 'la' + 'te'": True,
    "p.id = 'la' + 'te'": True,
    "p.setAttribute('data-la' + 'te', '')": True,
    "p.append(document.createElement('x-la' + 'te'))": True,
    "p.insertAdjacentHTML('beforeend', `<b><i><u class='x la${''}te'></u></i></b>`)": True,
    "document.documentElement.classList.add('la' + 'te')": True,
    "document.querySelector('form').className = 'la' + 'te'": True,
    "p.dispatchEvent(new PointerEvent('pointerover', {bubbles: true}))": True,
    "p.dispatchEvent(new KeyboardEvent('keydown', {bubbles: true}))": True,
    "document.querySelector('input').focus()": True,
    "p.textContent = 'late'": False,
    "p.style.top = '1px'": False,
    "p.className = 'other'": False,
    "scrollTo(0, 100)": False,
}
MORE = {
    "p.className = 'w' + 7919 * 5 + 'q'": True,
    "p.className = 'icon' + '-n8'": True,
    "p.className = 'icon' + '-n7'": False,
    "p.style.animation = 'tu' + 'rn 1s'": True,
    "p.attachShadow({mode: 'open'}).innerHTML = `<b style='animation:Tu${''}rn 1s'></b>`; p.title = 'x'": True,
    "p.className = 'LATE'": False,
}
FILL = "document.querySelector('#filled').innerHTML = `<u class='x la${''}te'>text</u>`; "
IN_BOXES = {
    FILL: False,
    "document.querySelector('#kept').className = 'la' + 'te'": False,
    "document.querySelector('#open').className = 'la' + 'te'": True,
    "document.querySelector('dialog').className = 'la' + 'te'": True,
    FILL + "p.className = 'la' + 'te'": True,
    FILL + "setTimeout(() => { p.className = 'la' + 'te' })": True,
    FILL + "setTimeout(() => document.querySelector('dialog').show())": True,
    FILL + "setTimeout(() => document.querySelector('dialog').showModal())": True,
    FILL + "setTimeout(() => { document.querySelector('dialog').style.display = 'block' })": True,
    "document.querySelector('#kept').className = 'la' + 'te'; setTimeout(() => kept.parentNode.showPopover())": True,
    "p.append(Object.assign(document.createElement('dialog'), {innerHTML: `<u class='la${''}te'></u>`}))": False,
}


def made(sheet: str, *, head: str = "", doctype: str = "<!doctype html>", body: str = "") -> str:
    """Return the page after the pass; what its script does comes later."""
    files = {
        "index.html": f"{doctype}<meta charset=utf-8><title>T</title>{head}<link rel=stylesheet href=a.css>"
        f"<body>{BODY}{body}<script>run()</script>",
        "a.css": sheet,
    }
    done = SmallSite(files).rewrite("index.html", STEPS, "words")
    assert not done.demoted, done.diagnostics
    return (done.content or b"").decode()


def acted(chromium: str, page: str, sheet: str, actions: list[str]) -> dict[str, list[str]]:
    """Return what the page loads after each of the actions, each on a new page."""

    async def one(browser: Chromium, action: str) -> list[str]:
        served = site({"index.html": page, "a.css": sheet})
        async with browser.tab(served, 300, 200) as tab:
            await tab.load(URL)
            assert [load.url for load in tab.seen.loads] == [URL]
            await tab.run(f"() => {{ const p = document.querySelector('p'); {action} }}")
            await tab.run(LOADED)
            return [load.url.removeprefix(URL) for load in tab.seen.loads[1:]]

    found = side_by_side(chromium, (partial(one, action=action) for action in actions))
    return dict(zip(actions, found, strict=True))


@pytest.mark.chromium
def test_the_whole_sheet_comes_once_a_name_comes_or_a_reader_acts(chromium: str) -> None:
    sheet = f".a{{color:red}}{FEW}"
    page = made(sheet)
    assert "data-used" in page
    assert acted(chromium, page, sheet, [*ACTIONS]) == {
        action: ["a.css"] if is_needed else [] for action, is_needed in ACTIONS.items()
    }


@pytest.mark.chromium
def test_many_names_are_a_filter(chromium: str) -> None:
    sheet = f".a{{color:red}}{MANY}{MOTION}"
    page = made(sheet)
    assert "atob(" in page
    assert len(page) < 4000
    expected = {**ACTIONS, **MORE}
    assert acted(chromium, page, sheet, [*expected]) == {
        action: ["a.css"] if is_needed else [] for action, is_needed in expected.items()
    }


@pytest.mark.chromium
def test_a_class_in_markup_of_a_script_may_begin_as_one_that_waits(chromium: str) -> None:
    sheet = f".a{{color:red}}{MANY}"
    drawing = """`<svg class="drawn icon-drawn"></svg>`"""
    script = f"function f() {{ p.className = (q ? 'a' : 'b'); p.addClass() }} const drawing = {drawing}"
    page = made(sheet, body=f"<script>{script}</script>")
    actions = {f"p.innerHTML = {drawing}": False, f"p.innerHTML = {drawing}.replaceAll('drawn', 'n8')": True}
    assert acted(chromium, page, sheet, [*actions]) == {
        action: ["a.css"] if is_needed else [] for action, is_needed in actions.items()
    }


@pytest.mark.chromium
def test_what_is_in_a_closed_dialog_needs_no_rules_until_it_opens(chromium: str) -> None:
    sheet = f".a{{color:red}}{MANY}"
    page = made(sheet, body=BOXES)
    assert "data-used" in page
    assert acted(chromium, page, sheet, [*IN_BOXES]) == {
        action: ["a.css"] if is_needed else [] for action, is_needed in IN_BOXES.items()
    }


@pytest.mark.chromium
def test_a_dialog_that_a_script_opens_has_the_size_of_the_original(chromium: str) -> None:
    sheet = f".a{{color:red}}.x.late{{display:block;width:123px;height:45px}}{MANY}"
    original = f"<!doctype html><meta charset=utf-8><link rel=stylesheet href=a.css><body>{BODY}{BOXES}"
    pages = (original, made(sheet, body=BOXES))

    async def look(tab: Tab) -> list[float]:
        await tab.run(f"async () => {{ {FILL} await new Promise(requestAnimationFrame) }}")
        await tab.run("() => document.querySelector('dialog').showModal()")
        await tab.run(LOADED)
        return await tab.run(
            "() => ['dialog', '.x'].flatMap((each) => {"
            " const { width, height } = document.querySelector(each).getBoundingClientRect(); return [width, height] })"
        )

    served = [site({"index.html": page, "a.css": sheet}) for page in pages]
    before, after = visits(chromium, served, look)
    assert before == after
    assert before[2:] == [123, 45]


@pytest.mark.chromium
def test_what_passes_write_is_no_reason_to_load_a_sheet(chromium: str) -> None:
    # Rules for attributes of data, of which the filter has the beginning
    sheet = f".a{{color:red}}{MANY}" + "".join(f"[data-n{number}]{{top:{number}px}}" for number in range(40))
    page = made(sheet)
    assert "atob(" in page and "data-used" in page.partition("KNOWN")[0]
    nothing, data = "p.title = 'x'", "p.setAttribute('data-' + 'n7', '')"
    assert acted(chromium, page, sheet, [nothing, data]) == {nothing: [], data: ["a.css"]}


@pytest.mark.chromium
def test_elements_of_svg_with_capitals_are_waited_for(chromium: str) -> None:
    sheet = f".a{{color:red}}linearGradient stop{{color:#010203}}{FEW}".replace(".late ", "linearGradient ")
    action = "p.innerHTML = '<svg><linear' + 'Gradient></linear' + 'Gradient></svg>'"
    assert acted(chromium, made(sheet), sheet, [action]) == {action: ["a.css"]}


@pytest.mark.chromium
@pytest.mark.parametrize("names", [FEW, MANY])
def test_in_quirks_mode_names_match_in_any_case(chromium: str, names: str) -> None:
    sheet = f".A{{color:red}}{names}"
    page = made(sheet, doctype="")
    assert ".A{color:red}" in page
    action = "p.className = 'LA' + 'te'"
    assert acted(chromium, page, sheet, [action, "p.className = 'OTHER'"]) == {
        action: ["a.css"],
        "p.className = 'OTHER'": [],
    }


@pytest.mark.chromium
def test_the_cascade_is_that_of_the_original_before_and_after(chromium: str) -> None:
    first = f".a{{color:#111111;top:1px}}.late{{color:#222222;left:2px}}{FEW}"
    second = f".a{{top:3px}}.late{{left:4px}}.a.late{{right:5px}}{MANY}"
    files = {
        "index.html": "<!doctype html><title>T</title><script>document.documentElement.className = 'js'</script>"
        "<link rel=stylesheet href=a.css><style>p{position:relative}.a{color:#333333}</style>"
        f"<link rel=stylesheet href=b.css><body>{BODY}<script>run()</script>",
        "a.css": first,
        "b.css": second,
    }
    done = SmallSite(files).rewrite("index.html", STEPS, "words")
    built = {**files, "index.html": (done.content or b"").decode()}

    async def look(tab: Tab) -> list[list[str]]:
        seen = []
        for action in ("", "p.classList.add('la' + 'te')"):
            await tab.run(f"() => {{ const p = document.querySelector('p'); {action} }}")
            await tab.run(LOADED)
            seen.append(
                await tab.run(
                    "() => { const s = getComputedStyle(document.querySelector('p'));"
                    " return [s.color, s.top, s.left, s.right] }"
                )
            )
        return seen

    original, level = visits(chromium, (site(dict(served)) for served in (files, built)), look)
    assert original == level
    assert original[1] != original[0]


def test_a_filter_has_its_names_and_few_others() -> None:
    choose = random.Random(7)
    names, others = ([f".{choose.randrange(1 << 40):x}" for _ in range(count)] for count in (400, 3000))
    size = 11 * len(names)
    bits = _filter(names, size)
    assert all(_is_in(bits, size, name) for name in names)
    assert 0 < sum(_is_in(bits, size, name) for name in others) < 30


@pytest.mark.chromium
def test_names_of_the_page_that_seem_to_be_in_the_filter_load_nothing(chromium: str) -> None:
    sheet = f".a{{color:red}}{MANY}"
    body = "".join(f"<i class='own{number} o{number}-n' id=i{number}></i>" for number in range(1500))
    page = made(sheet, body=body)
    assert "atob(" in page
    nothing = "p.title = 'x'"
    assert acted(chromium, page, sheet, [nothing]) == {nothing: []}
