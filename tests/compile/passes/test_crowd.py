"""What moves into a page for readers of whom each reads one page, and for copies of images under a budget."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from urllib.parse import unquote

import pytest
from PIL import Image

from tests.sites.shown import visit
from tests.sites.small import SmallSite

from adaptc.browser.evidence import PageEvidence
from adaptc.browser.tab import Tab
from adaptc.compile.page.guarded_images import GUARD, checksum
from adaptc.compile.passes.inline_scripts import script_uri
from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.compile.view import Settings
from adaptc.formats.html.document import parse

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
SHEET = "b{margin:0 1px 2px 3px}i{padding:4px 5px 6px 7px}"
CODE = "function shown(a, b) { return a + b }"
CROWD = {"readers": "crowd"}


def rewritten(body: str, name: str, options: Mapping[str, object], **files: str | bytes) -> str:
    named = {file.replace("_", "."): content for file, content in files.items()}
    site = SmallSite(
        {"index.html": HEAD + body, "a.css": SHEET, "b.css": "b{top:0}", "a.js": CODE, "b.js": CODE, **named},
        shared=["a.css", "b.css", "a.js", "b.js"],
        settings=Settings(crowd_limit=5000),
    )
    each = BY_NAME[name]
    defaults = {key: option.default for key, option in each.options.items()}
    done = site.rewrite(steps=(Step(each, {**defaults, **options}),), promise="words")
    return site.contents["index.html"].decode() if done.content is None else done.content.decode()


def test_a_shared_sheet_moves_in_for_a_crowd() -> None:
    link = "<link rel=stylesheet href=a.css>"
    assert "<style>" in rewritten(link, "inline-styles", CROWD)
    assert "<style>" not in rewritten(link, "inline-styles", {})


def test_a_large_sheet_stays_a_file() -> None:
    noise = "".join(f".c{index * 7919 % 100003}{{left:{index * 104729 % 9973}px}}" for index in range(2000))
    assert "<style>" not in rewritten("<link rel=stylesheet href=a.css>", "inline-styles", CROWD, a_css=noise)


def test_a_handle_that_no_script_names_goes_along() -> None:
    link = "<link id=theme rel=stylesheet href=a.css>"
    assert "<style id=theme>" in rewritten(link, "inline-styles", CROWD)
    knows = "<script>document.getElementById('theme').href = 'x.css'</script>"
    assert "<style" not in rewritten(link + knows, "inline-styles", CROWD)
    unseen = "<script src=https://elsewhere.example/x.js></script>"
    assert "<style id=theme>" in rewritten(link + unseen, "inline-styles", CROWD)


def test_of_a_sheet_that_is_linked_twice_the_last_wins() -> None:
    twice = "<link rel=stylesheet href=a.css><link rel=stylesheet href=b.css><link rel=stylesheet href=a.css>"
    result = rewritten(twice, "inline-styles", CROWD)
    assert re.findall(r"<style>(.)\{(...)", result) == [("b", "top"), ("b", "mar")]


@pytest.mark.parametrize("other", ["<link rel=stylesheet href=a.css media=print>", "<link rel=stylesheet href=b.css>"])
def test_other_conditions_are_another_sheet(other: str) -> None:
    result = rewritten(f"<link rel=stylesheet href=a.css>{other}", "inline-styles", CROWD)
    assert result.count("<style") == 2


def test_layers_have_their_order_from_the_first() -> None:
    twice = "<link rel=stylesheet href=a.css>" * 2
    assert rewritten(twice, "inline-styles", CROWD, a_css="@layer x{b{top:0}}").count("@layer") == 2


def test_a_script_that_looks_for_style_sheets_moves_in_for_a_crowd() -> None:
    script = f"{CODE};document.styleSheets[0].disabled = true"
    result = rewritten("<script src=b.js></script>", "inline-scripts", CROWD, b_js=script)
    assert "disabled=true</script>" in result


def test_a_script_that_looks_for_itself_stays_alone_for_a_crowd() -> None:
    scripts = "<script src=a.js></script><script src=b.js></script>"
    watching = "x = document.currentScript.src; y = document.getElementsByTagName('script')"
    result = rewritten(scripts, "inline-scripts", CROWD, b_js=watching)
    assert "function shown" in result and "src=b.js" in result
    both = rewritten(scripts, "inline-scripts", {}, b_js=watching)
    assert "src=a.js" in both


def test_a_script_that_writes_into_the_document_moves_in_for_a_crowd() -> None:
    result = rewritten("<script src=b.js></script>", "inline-scripts", CROWD, b_js="document.write('<p>')")
    assert "<script>document.write('<p>')</script>" in result


def test_a_script_that_looks_for_others_keeps_them_or_finds_their_elements() -> None:
    scripts = "<script src=a.js></script><script src=b.js></script>"
    result = rewritten(scripts, "inline-scripts", CROWD, b_js="$('script[src*=\"a.js\"]').remove()")
    assert "<script src=a.js></script>" in result
    result = rewritten(scripts, "inline-scripts", CROWD, b_js="is = x => $('script[src^=\"' + x + '\"]').length")
    assert "<script src=a.js type=adaptc-moved></script><script>function shown" in result


# ---- Chunks of webpack and Turbopack

PUSH = "(self.webpackChunksite=self.webpackChunksite||[]).push([[{}],{{{}}}]);"
CHUNK = PUSH.format(7, "1:function(){document.title+=' one'}")
RUNTIME = """!function(){var known={},done={},load=function(e,t){for(var a=document.getElementsByTagName("script"),l=0;
l<a.length;l++){var s=a[l];if(s.getAttribute("src")==e){document.title+=" found";return}}document.title+=" fetched"},
all=self.webpackChunksite=self.webpackChunksite||[],take=function(e){for(var t in e[1])known[t]=e[1][t];done[e[0]]=1};
all.forEach(take);done[7]||load({7:"chunk"}[7]+"."+{7:"0123abcd"}[7]+".js");known[1]&&known[1]();
document.title+=" "+document.readyState}();"""
LOADER = "<script src=r.js defer></script><script src=chunk.0123abcd.js defer></script>"


def chunked(body: str = LOADER, options: Mapping[str, object] = CROWD, **files: str) -> str:
    scripts = {"r_js": RUNTIME, "chunk_0123abcd_js": CHUNK, **files}
    return rewritten(f"{body}<p>text", "inline-scripts", options, **scripts)


def test_chunks_come_after_what_is_shown_and_leave_the_elements_that_their_loader_looks_for() -> None:
    result = chunked()
    elements = parse(result).select("script")
    assert [each.attr("type") for each in elements] == [None, "adaptc-moved", None]
    assert elements[1].attr("src") == "chunk.0123abcd.js"
    assert result.index("text<") < result.index("<script>(self")
    assert (elements[0].attr("src") or "").startswith("data:")


def test_a_chunk_stays_deferred_where_its_loader_does_not_wait_for_the_page() -> None:
    result = chunked(f"<script>{RUNTIME}</script><script src=chunk.0123abcd.js defer></script>")
    assert result.count("data:text/javascript") == 1
    assert parse(result).select("script")[-1].attr("defer") is not None


def test_a_page_that_would_be_larger_keeps_the_files_of_its_loader() -> None:
    result = chunked(options={**CROWD, "budget": 0})
    assert "src=r.js defer" in result and "src=chunk.0123abcd.js defer" in result


def test_a_chunk_that_does_something_else_as_well_stays_a_file_where_a_loader_names_it() -> None:
    for more in ("document.title='x'", "document.title='x';titles.push([1])"):
        assert "src=chunk.0123abcd.js defer" in chunked(chunk_0123abcd_js=CHUNK + more)


@pytest.mark.chromium
def test_a_loader_has_its_chunks_once_the_page_is_parsed(chromium: str) -> None:
    async def look(tab: Tab) -> str:
        return str(await tab.run("() => document.title"))

    assert visit(chromium, chunked(), look) == "T one interactive"


TURBOPACK = (
    '(globalThis.TURBOPACK||(globalThis.TURBOPACK=[])).push(["object"==typeof document?document.currentScript:void 0,'
    "9,(e,t,n)=>{t.exports=1}]);"
)


def test_a_chunk_of_turbopack_knows_its_address_without_an_element() -> None:
    result = rewritten("<script src=/c/a.js async></script>", "inline-scripts", CROWD, **{"c/a_js": TURBOPACK})
    assert '.push([{getAttribute:()=>"/c/a.js"},9,' in result
    asks_more = TURBOPACK + "document.title=document.currentScript.id"
    result = rewritten("<script src=/c/a.js async></script>", "inline-scripts", CROWD, **{"c/a_js": asks_more})
    assert "src=/c/a.js async" in result


@pytest.mark.parametrize(
    ("seen", "is_carried"),
    [
        ({"document": "ab12", "loaded": ("chunk.0123abcd.js",)}, True),
        ({"document": "ab12", "loaded": ("chunk.0123abcd.js",), "hinted": ("chunk.0123abcd.js",)}, False),
        ({"loaded": ("chunk.0123abcd.js",)}, False),
    ],
    ids=["loaded", "fetched early as well", "seen of other pages"],
)
def test_chunks_that_a_browser_saw_loaded_come_with_the_page(seen: dict[str, Any], is_carried: bool) -> None:
    files = {
        "index.html": f"{HEAD}<script src=r.js defer></script><p>text",
        "r.js": RUNTIME,
        "chunk.0123abcd.js": CHUNK,
    }
    site = SmallSite(files, evidence={"index.html": PageEvidence((), **seen)}, documents={"ab12": "<p>text"})
    each = BY_NAME["inline-scripts"]
    options = {key: option.default for key, option in each.options.items()}
    done = site.rewrite(steps=(Step(each, {**options, **CROWD}),), promise="words")
    assert (CHUNK[:-1] in (done.content or b"").decode()) is is_carried


LISTENING = "addEventListener('resize',()=>document.body.append('resized '))"
FRAME = "new Promise(requestAnimationFrame)"
READ = f"async () => {{ await {FRAME}; await {FRAME}; return document.body.innerText }}"


def test_scripts_that_were_files_miss_the_resize_of_the_first_frame_as_before() -> None:
    result = rewritten("<script src=b.js></script><script src=a.js></script>", "inline-scripts", CROWD, a_js=LISTENING)
    assert [len(script.text) > len(CODE) for script in parse(result).select("script")] == [True, False, True]
    assert "isTrusted" not in rewritten("<script src=a.js></script>", "inline-scripts", CROWD)
    noticing = "var first = document.scripts[0].src"
    result = rewritten(
        f"<script>{noticing}</script><script src=a.js></script>", "inline-scripts", CROWD, a_js=LISTENING
    )
    assert "isTrusted" not in result


@pytest.mark.chromium
def test_later_resizes_arrive(chromium: str) -> None:
    head = "<meta name=viewport content=width=device-width>"
    page = rewritten(f"{head}<body><script src=a.js></script>", "inline-scripts", CROWD, a_js=LISTENING)

    async def look(tab: Tab) -> tuple[str, str, str]:
        first = str(await tab.run(READ))
        await tab.run("() => dispatchEvent(new Event('resize'))")
        by_script = str(await tab.run(READ))
        await tab.resize(400, 300)
        return first, by_script, str(await tab.run(READ))

    assert visit(chromium, page, look) == ("", "resized", "resized resized")


def photo(width: int) -> bytes:
    output = BytesIO()
    Image.linear_gradient("L").resize((width, width)).convert("RGB").save(output, "JPEG", quality=95)
    return output.getvalue()


BUDGET = {"budget": 4000, "largest": 3000}


def test_a_small_copy_becomes_a_data_uri_in_the_box_of_the_original() -> None:
    result = rewritten("<p>x<img src=a.jpg alt=x>", "half-images", BUDGET, a_jpg=photo(200))
    assert re.search(r'<img srcset="data:image/webp;base64,[\w+/=]+ 100w" sizes=200px alt=x>', result)


def test_a_selector_for_images_without_an_address_finds_no_more_of_them() -> None:
    body = "<style>img:not([src]){opacity:0}</style><p>x<img src=a.jpg>"
    result = rewritten(body, "half-images", BUDGET, a_jpg=photo(200))
    assert '<img srcset="data:image/webp;base64,' in result and " src=data:,>" in result


@pytest.mark.parametrize(
    "body",
    [
        "<img src=a.jpg id=x>",
        "<picture><source srcset=a.jpg><img src=a.jpg></picture>",
        "<img src=a.jpg loading=lazy>",
    ],
)
def test_a_copy_stays_a_file_where_it_must_be_one(body: str) -> None:
    result = rewritten(f"<p>x{body}", "half-images", BUDGET, a_jpg=photo(200))
    assert "data:" not in result and "_adaptc/" in result


def test_the_budget_holds() -> None:
    result = rewritten("<p>x<img src=a.jpg><img src=b.jpg>", "half-images", {"budget": 400, "largest": 900},
                     a_jpg=photo(200), b_jpg=photo(240))  # fmt: skip
    assert result.count("data:") == 1 and result.count("_adaptc/") >= 1


def test_a_deferred_script_stays_deferred() -> None:
    result = rewritten("<script defer src=a.js></script>", "inline-scripts", CROWD)
    script = parse(result).select_one("script")
    assert script is not None
    assert "defer" in script.attrs
    assert str(script.attr("src")).startswith("data:text/javascript;charset=utf-8,function shown(")
    assert "src=a.js" in rewritten("<script defer src=a.js></script>", "inline-scripts", {"readers": "visitors"})


def test_a_script_as_an_address_loses_nothing() -> None:
    code = "const late = '50% # \"&amp;\"';\n\tshow(late) "
    uri = script_uri(code)
    assert unquote(uri.partition(",")[2]) == code
    assert not re.search(r"[\x00-\x1f#]|\s\Z", uri)


@pytest.mark.parametrize(
    ("embed", "name"),
    [("<script src=a.js></script>", "inline-scripts"), ("<link rel=stylesheet href=a.css>", "inline-styles")],
)
def test_what_a_frame_in_the_page_loads_as_well_stays_a_file(embed: str, name: str) -> None:
    frame = f'<iframe srcdoc="{embed}"></iframe>'
    assert rewritten(embed + frame, name, CROWD).endswith(embed + frame)
    assert rewritten(embed + "<iframe srcdoc='<p>x'></iframe>", name, CROWD).count("src=a") == 0


def test_a_drawing_weighs_what_it_takes_on_the_way() -> None:
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg"><path d="{"M0 0h9v9z" * 400}"/></svg>'.encode()
    small = {"readers": "crowd", "budget": 500, "largest": 500}
    assert "data:image/svg" in rewritten("<p>x<img src=a.svg>", "inline-images", small, a_svg=drawing)
    visitors = {**small, "readers": "visitors"}
    assert "data:" not in rewritten("<p>x<img src=a.svg>", "inline-images", visitors, a_svg=drawing)


def test_drawings_keep_their_addresses_where_a_script_may_write_some() -> None:
    names = [f"{letter}.svg" for letter in "abcdefghij"]
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
    options = {"readers": "crowd", "budget": 5000, "largest": 500}
    files = {name.replace(".", "_"): drawing for name in names}
    body = "".join(f"<p>x<img src={name}>" for name in names)
    text = rewritten(f"{body}<script>pick().src = next()</script>", "inline-images", options, **files)
    assert f"<script>{GUARD}</script>" in text
    assert all(f"data-half={checksum(name)} src={name}" in text for name in names)
    assert text.count("<img srcset=") == text.count("data:image/svg+xml,<svg%20") == len(names)
    plain = rewritten(f"{body}<script>go()</script>", "inline-images", options, **files)
    assert GUARD not in plain and plain.count("data:image/svg") == len(names)


# ---- what an element is known by


@pytest.mark.parametrize("attribute", ["id=jquery-core-js", "class=x", "data-cfasync=false", "nonce=n", "title=x"])
def test_names_that_no_script_looks_up_go_along(attribute: str) -> None:
    script = rewritten(f"<script {attribute} src=a.js></script>", "inline-scripts", CROWD)
    assert f"<script {attribute}>function shown(" in script
    sheet = rewritten(f"<link rel=stylesheet {attribute} href=a.css>", "inline-styles", CROWD)
    assert f"<style {attribute}>" in sheet


@pytest.mark.parametrize(
    ("attribute", "code"),
    [
        ("id=main-js", "document.getElementById('main-js').src"),
        ("id=main-js", "$('#main-js').on('load', start)"),
        ("class=late", "document.querySelector('script.late').src"),
        ("data-main=app", "e.getAttribute('data-main') + e.src"),
        ("data-main-file=app", "e.dataset.mainFile + e.src"),
    ],
)
def test_an_element_that_a_script_looks_up_stays(attribute: str, code: str) -> None:
    result = rewritten(f"<script>{code}</script><script {attribute} src=a.js></script>", "inline-scripts", CROWD)
    assert f"<script {attribute} src=a.js>" in result


@pytest.mark.parametrize(
    "attribute", ["fetchpriority=high", "crossorigin", "referrerpolicy=no-referrer", "type=text/css"]
)
def test_what_says_how_to_fetch_a_sheet_goes(attribute: str) -> None:
    assert "<style>b{" in rewritten(f"<link rel=stylesheet {attribute} href=a.css>", "inline-styles", CROWD)


def test_a_sheet_that_is_its_own_preload_moves_in() -> None:
    assert "<style>b{" in rewritten("<link rel='preload stylesheet' as=style href=a.css>", "inline-styles", CROWD)


def test_used_rules_keep_the_names_of_their_sheets() -> None:
    links = "<link rel=stylesheet id=one-css href=a.css><link rel=stylesheet data-x=1 href=b.css>"
    result = rewritten(f"{links}<script>f()</script><b>x</b>", "used-styles", {})
    assert "<style id=one-css>b{margin" in result
    assert "<style data-x=1>b{top:0" in result


# ---- scripts that run late


def test_an_asynchronous_script_runs_when_the_page_is_parsed() -> None:
    result = rewritten("<script async src=a.js></script>", "inline-scripts", CROWD)
    assert '<script defer src="data:text/javascript' in result


def test_a_script_with_a_load_event_has_an_address() -> None:
    result = rewritten("<script src=a.js onload='start()'></script>", "inline-scripts", CROWD)
    assert '<script onload=start() src="data:text/javascript' in result
    own = "<script src=a.js onload='start(this)'></script>"
    assert own in rewritten(own, "inline-scripts", CROWD)


def test_a_module_without_imports_moves_in() -> None:
    module = "<script type=module src=a.js></script>"
    assert "<script type=module>function shown(" in rewritten(module, "inline-scripts", CROWD)
    assert module in rewritten(module, "inline-scripts", {})


@pytest.mark.parametrize("code", ["import './b.js'", "export let a = 1", "import('./b.js')", "f(import.meta.url)"])
def test_a_module_that_knows_others_stays(code: str) -> None:
    module = "<script type=module src=a.js></script>"
    assert module in rewritten(module, "inline-scripts", CROWD, a_js=code)


def test_a_module_that_another_imports_stays() -> None:
    modules = "<script type=module src=a.js></script><script type=module>import './a.js'</script>"
    assert "src=a.js" in rewritten(modules, "inline-scripts", CROWD)


# ---- sheets that load others


def test_a_sheet_that_imports_from_elsewhere_moves_in() -> None:
    sheet = '@charset "utf-8"; @import "https://cdn.example/x.css"; b { margin : 0 }'
    result = rewritten("<link rel=stylesheet href=a.css>", "inline-styles", CROWD, a_css=sheet)
    assert '<style>@import"https://cdn.example/x.css";b{margin:0}</style>' in result


def test_what_leads_nowhere_in_a_sheet_may_do_so_in_the_page() -> None:
    sheet = "@font-face{font-family:F;src:url(../fonts/f.eot?#iefix)}b{background:url(none.png)}"
    site = SmallSite(
        {"p/index.html": HEAD + "<link rel=stylesheet href=../css/a.css><b>x</b>", "css/a.css": sheet},
        settings=Settings(crowd_limit=5000),
    )
    for name in ("inline-styles", "used-styles"):
        options = {key: option.default for key, option in BY_NAME[name].options.items()}
        step = Step(BY_NAME[name], {**options, "readers": "crowd"})
        done = site.rewrite("p/index.html", steps=(step,), promise="words")
        assert done.demoted == []
        assert done.content is not None
        assert b"url(../css/none.png)" in done.content


def test_a_file_above_the_docroot_is_the_same_from_the_page() -> None:
    files = {"index.html": HEAD + "<link rel=stylesheet href=css/a.css>", "css/a.css": "b{background:url(../../x.png)}"}
    site = SmallSite(files, base_url="https://x.example/pre/")
    assert "url(/x.png)" in site.page("index.html", "inline-styles")


# ---- scripts that look for sheets


@pytest.mark.parametrize(
    "code",
    [
        "document.querySelectorAll('link[rel=\"modulepreload\"]')",
        "document.querySelector('link[rel=canonical]').href",
        "support.html = !!div.getElementsByTagName('link').length",
        'e=document.getElementsByTagName("link");n.rel=r?"stylesheet":"modulepreload"',
    ],
)
def test_links_of_other_kinds_are_no_sheets(code: str) -> None:
    page = f"<link rel=stylesheet href=a.css><script>{code}</script>"
    assert "<style>b{" in rewritten(page, "inline-styles", CROWD)


@pytest.mark.parametrize(
    "code", ["document.querySelector('link[rel=stylesheet]')", "load('css/a.css')", "document.styleSheets[0]"]
)
def test_a_script_that_may_know_the_sheet_keeps_it(code: str) -> None:
    page = f"<link rel=stylesheet href=a.css><script>{code}</script>"
    assert "<style" not in rewritten(page, "inline-styles", CROWD)


# What webpack, and loaders like it, compose the names of chunks of
LOADERS = [
    's.src = "js/" + ({9:"main"}[n] || n) + "." + {9:"4f5a9c01"}[n] + ".js"',
    's.src = "js/main." + hash + ".chunk.js"',
    'import("./js/main.4f5a9c01.chunk.js")',
]


@pytest.mark.parametrize("loader", LOADERS)
def test_a_script_stays_a_file_that_a_loader_may_ask_for(loader: str) -> None:
    files = {"main.4f5a9c01.chunk.js": CODE, "loader.js": loader}
    site = SmallSite({"index.html": f"{HEAD}{''.join(f'<script src={name}></script>' for name in files)}", **files})
    done = site.rewrite(steps=(Step(BY_NAME["inline-scripts"], CROWD),), promise="words")
    kept = {action.subject: action.reason for action in done.actions if action.verb == "kept"}
    assert "may fetch it again" in kept["main.4f5a9c01.chunk.js"]
    assert "loader.js" not in kept or "import" in loader


# Addresses of a file: of the own host, or put together; and of others that have files of the same name
OWN = [
    's.src = "https://example.org/js/app.min.js"',
    's.src = "//www.example.org/js/app.min.js"',
    's.src = "https://cdn.example/js/" + "app.min.js"',
    "s.src = `https://${host}/js/app.min.js`",
    "s.src = `https://cdn.example/${version}/app.min.js`",
    's.src = root + "//js/app.min.js"',
    's.src = "js/" + "https://cdn.example/app.min.js".split("/").pop()',
    'load("https://cdn.example/a.js,js/app.min.js".split(","))',
    's.src = "http://localhost:8000/js/app.min.js"',
]
FOREIGN = [
    's.src = "https://cdn.example/app.min.js"',
    's.src = "https://cdn.example:8443/1.3.0/app.min.js?v=2"',
    's.src = "//cdn.example/lib/app.min.js"',
    r's.src = "https:\/\/cdn.example\/lib\/app.min.js"',
    r"""load(JSON.parse('{"js": "https:\\/\\/cdn.example\\/app.min.js"}'))""",
    "box.innerHTML = '<script src=\"https://cdn.example/app.min.js\"><' + '/script>'",
    "box.innerHTML = `<script src=//cdn.example/app.min.js></script>`",
    "s.src = `${location.protocol}//cdn.example/app.min.js`",
    'load(["https://other.example/a.js", "https://cdn.example/app.min.js"])',
    "start() // as https://cdn.example/app.min.js and js/app.min.js",
]


@pytest.mark.parametrize("base_url", ["https://example.org/", None])
@pytest.mark.parametrize(("code", "is_own"), [*((code, True) for code in OWN), *((code, False) for code in FOREIGN)])
def test_an_address_of_another_host_names_no_file_of_the_site(code: str, is_own: bool, base_url: str | None) -> None:
    files = {"js/app.min.js": CODE, "loader.js": code}
    page = f"{HEAD}{''.join(f'<script src={name}></script>' for name in files)}"
    site = SmallSite({"index.html": page, **files}, base_url=base_url)
    done = site.rewrite(steps=(Step(BY_NAME["inline-scripts"], CROWD),), promise="words")
    kept = {action.subject: action.reason for action in done.actions if action.verb == "kept"}
    assert ("may fetch it again" in kept.get("js/app.min.js", "")) is is_own
    assert (b"<script>function shown" in done.content) is not is_own


def test_a_script_moves_in_whose_name_no_loader_can_know() -> None:
    files = {"main.4f5a9c01.js": CODE, "loader.js": 's.src = "js/" + {9:"77aa90bc"}[n] + ".js"'}
    site = SmallSite({"index.html": f"{HEAD}{''.join(f'<script src={name}></script>' for name in files)}", **files})
    done = site.rewrite(steps=(Step(BY_NAME["inline-scripts"], CROWD),), promise="words")
    assert done.content is not None
    assert b"src=" not in done.content.replace(b"s.src=", b"")


# ---- images


def test_a_small_image_moves_in_wherever_the_page_shows_it() -> None:
    output = BytesIO()
    Image.new("1", (20, 20)).save(output, "PNG")
    options = {"readers": "crowd", "budget": 4000, "largest": 2000}
    both = rewritten("<img src=a.png><p>x<img src=a.png>", "inline-images", options, a_png=output.getvalue())
    assert both.count("data:image/png") == 2
    apart = "<img src=a.png><picture><source srcset=b.png media=print><img src=a.png></picture>"
    assert "data:" not in rewritten(apart, "inline-images", options, a_png=output.getvalue())
    visitors = {**options, "readers": "visitors"}
    site = SmallSite({"index.html": HEAD + "<img src=a.png><p>x<img src=a.png>", "a.png": output.getvalue()})
    done = site.rewrite(steps=(Step(BY_NAME["inline-images"], visitors),), promise="words")
    assert done.content is None
