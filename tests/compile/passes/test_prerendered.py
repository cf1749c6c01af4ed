"""prerendered: the hydration of pages waits for a visitor, where their HTML can be read as it is."""

from __future__ import annotations

import json
from functools import partial

import pytest

from tests.samples.drawn import photo_file
from tests.samples.material import BUNDLE, BUNDLE_PATH, TABS, material_page
from tests.samples.prerendered import ARTICLE, FILES, PAGES, page, prerendered
from tests.sites.small import SmallSite

from adaptc.browser.evidence import PageEvidence
from adaptc.compile.pipeline import BY_NAME, KNOWN_PASSES, Step, plan_level
from adaptc.compile.rewrite import PageResult
from adaptc.compile.verify import embedded_files_of
from adaptc.config.rulebook import load_levels
from adaptc.core import media
from adaptc.formats.html.document import parse

DROP = (Step(BY_NAME["prerendered"], {"hydration": "drop"}),)
KEEP = (Step(BY_NAME["prerendered"], {"hydration": "keep"}),)


def result(text: str, steps: tuple[Step, ...] = DROP, **files: str) -> PageResult:
    site = SmallSite({"index.html": text, **FILES, **files})
    rewritten = site.rewrite(steps=steps, promise="words")
    assert not rewritten.demoted, rewritten.diagnostics
    return rewritten


def adapted(text: str, steps: tuple[Step, ...] = DROP, **files: str) -> str:
    return (result(text, steps, **files).content or text.encode()).decode()


def kept_reason(text: str) -> str:
    (action,) = result(text).actions
    assert action.verb == "kept"
    return action.reason


# ---- what goes, and what stays


@pytest.mark.parametrize("framework", PAGES)
def test_scripts_and_hints_of_hydration_wait(framework: str) -> None:
    before, after = parse(prerendered(framework)), parse(adapted(prerendered(framework)))
    assert ARTICLE in adapted(prerendered(framework))
    scripts = [each for each in before.select("script") if (each.attr("type") or "module") == "module"]
    held = after.select("script[type=adaptc-later]")
    themes = [each for each in scripts if "theme" in each.text or "dark" in each.text]
    assert [(each.attr("data-later"), each.attr("data-later-type"), each.text) for each in held] == [
        (each.attr("src"), each.attr("type"), each.text) for each in scripts if each not in themes
    ]
    assert not after.select("script[src], link[rel=modulepreload], link[rel=prefetch], link[as=script][rel=preload]")
    kept = [each.text for each in before.select("script[type='application/json']")]
    assert [each.text for each in after.select("script[type='application/json']")] == kept
    hints = before.select("link[rel=modulepreload], link[rel=prefetch][as=script], link[rel=preload][as=script]")
    assert len(after.select("link[rel=adaptc-later]")) >= len(hints)


@pytest.mark.parametrize("framework", PAGES)
def test_sheets_fonts_and_scripts_of_the_theme_stay(framework: str) -> None:
    before, after = prerendered(framework), adapted(prerendered(framework))
    for kept in ("stylesheet", "a.woff2", "data-theme", "check-dark-mode"):
        assert (kept in before) == (kept in after), kept


@pytest.mark.parametrize("framework", PAGES)
def test_hydration_stays_unless_it_is_to_be_dropped(framework: str) -> None:
    assert result(prerendered(framework), KEEP).content is None


@pytest.mark.parametrize(
    ("is_same", "document", "reason"),
    [
        (True, "ab12", []),
        (False, "ab12", ["without scripts, a browser does not show the same"]),
        (
            False,
            None,
            [
                "without scripts, a browser does not show the same; it looked at pages like this one "
                "(--browser=all looks at each)"
            ],
        ),
    ],
)
def test_hydration_waits_only_where_a_browser_shows_the_same_without(
    is_same: bool, document: str | None, reason: list[str]
) -> None:
    text, seen = prerendered("Docusaurus"), {"index.html": PageEvidence((), document, is_same_without_scripts=is_same)}
    rewritten = SmallSite({"index.html": text, **FILES}, evidence=seen).rewrite(steps=DROP, promise="words")
    assert [action.reason for action in rewritten.actions if action.verb == "kept"] == reason
    assert (rewritten.content is None) != is_same


@pytest.mark.parametrize(
    ("is_seen", "words", "code", "reason"),
    [
        (True, "<h1>404</h1> Not found", "x()", None),
        (False, "<h1>404</h1> Not found", "x()", "its HTML holds hardly any text"),
        (False, "<h1>Ships</h1><img src=a.png> of all seas, large and small ones", "x()", None),
        (False, "<h1>Ships</h1> of all seas, large and small ones", "x()", "its HTML holds hardly any text"),
        (False, "<h1>Ships</h1><img src=a.png>", "x()", "its HTML holds hardly any text"),
        (True, "", "x()", "its HTML holds hardly any text"),
        (True, "<p>Loading...</p>", "x()", "its HTML holds hardly any text"),
        (True, "<h1>Ships</h1>", "fetch('/ships.json').then(show)", "its HTML holds hardly any text"),
    ],
)
def test_hydration_of_a_short_page_waits_where_a_browser_saw_that_nothing_is_missing(
    is_seen: bool, words: str, code: str, reason: str | None
) -> None:
    text = page(
        f"<div id=__docusaurus><main>{words}</main></div>", "<script defer src=/assets/js/main.75c38abc.js></script>"
    )
    seen = {"index.html": PageEvidence((), is_same_without_scripts=True)} if is_seen else {}
    files = {"index.html": text, "assets/js/main.75c38abc.js": code + "/*" + "x" * 5000 + "*/"}
    rewritten = SmallSite(files, evidence=seen).rewrite(steps=DROP, promise="words")
    assert [each.reason for each in rewritten.actions if each.verb == "kept"] == ([reason] if reason else [])


@pytest.mark.parametrize("is_in_application", [False, True])
@pytest.mark.parametrize(
    ("data", "styles"),
    [
        ('{\\"scrollOffset\\":134,\\"x\\":1}', [None, "scroll-margin-top:110px", "color:red;scroll-margin-top:134px"]),
        ('{\\"scrollOffset\\":\\"header\\"}', [None, None, "color:red"]),
        ("{}", [None, None, "color:red"]),
    ],
)
def test_a_heading_of_vitepress_stands_below_the_bars_once_a_link_leads_to_it(
    data: str, styles: list[str | None], is_in_application: bool
) -> None:
    words = "<h1>Start</h1><h2 id=a class=padded>A</h2><h3 id=b style='color:red'>B</h3>"
    style, code = "<style>.padded{padding-top:24px}</style>", f'window.__VP_SITE_DATA__=JSON.parse("{data}");'
    head = style if is_in_application else f"{style}<script>{code}</script>"
    text, app = (
        prerendered("VitePress", f"<main class=vp-doc>{words}{ARTICLE}</main>", head=head),
        "assets/app.DJH2XMec.js",
    )
    tree = parse(adapted(text, **{app: code * is_in_application + FILES[app]}))
    assert [tree.select_one(name).attr("style") for name in ("h1", "h2", "h3")] == styles  # type: ignore[union-attr]


ALPINE = "<div x-data='{open: false}'><button @click='open = !open'>Menu</button><p x-show=open x-cloak>Ships</p></div>"
POLICY = "a Content-Security-Policy restricts the page"
ALPINE_HEAD = "<script defer src=/collapse.js></script><script defer src=/npm/alpinejs@3.14/cdn.js></script>"


@pytest.mark.parametrize(
    ("more", "is_seen", "reason"),
    [
        ("", True, None),
        ("", False, "only a browser says what it shows without scripts"),
        ("<p x-data x-init='start()'>Next</p>", True, "scripts run before a visitor uses anything"),
        ("<p x-data @scroll.window='move()'>Next</p>", True, "scripts run before a visitor uses anything"),
        ("<a x-data href=/b.html @click.prevent='show()'>Next</a>", True, "scripts run before a visitor uses anything"),
        ("<a x-data href='#' @click.prevent='show()'>Next</a>", True, None),
    ],
)
def test_alpine_waits_where_a_browser_sees_the_same_and_all_its_directives_wait(
    more: str, is_seen: bool, reason: str | None
) -> None:
    files = {
        "index.html": page(ALPINE + more + ARTICLE, ALPINE_HEAD),
        "collapse.js": "run()",
        "npm/alpinejs@3.14/cdn.js": FILES["assets/js/main.75c38abc.js"],
    }
    seen = {"index.html": PageEvidence((), is_same_without_scripts=True)} if is_seen else {}
    rewritten = SmallSite(files, evidence=seen).rewrite(steps=DROP, promise="words")
    assert [each.reason for each in rewritten.actions if each.verb == "kept"] == ([reason] if reason else [])
    held = [] if rewritten.content is None else parse(rewritten.content.decode()).select("script[type=adaptc-later]")
    assert [each.attr("data-later") for each in held] == ([] if reason else ["/npm/alpinejs@3.14/cdn.js"])


LAND = "<is-land on:idle import=/start.js><button @click='open = !open'>More</button></is-land>"
LAND_FILES = {"is-land.js": "customElements.define('is-land', Land)", "start.js": str([3**each for each in range(200)])}


@pytest.mark.parametrize(
    ("land", "is_seen", "reason"),
    [
        (LAND, True, None),
        (LAND, False, "only a browser says what it shows without scripts"),
        (LAND.replace("@click", "@scroll.window"), True, "scripts run before a visitor uses anything"),
    ],
)
def test_islands_wait_where_a_browser_sees_the_same_and_what_they_import_counts(
    land: str, is_seen: bool, reason: str | None
) -> None:
    files = {"index.html": page(land + ARTICLE, "<script type=module src=/is-land.js></script>"), **LAND_FILES}
    loaded = PageEvidence((), is_same_without_scripts=True, loaded=("start.js",))
    rewritten = SmallSite(files, evidence={"index.html": loaded} if is_seen else {}).rewrite(
        steps=DROP, promise="words"
    )
    assert [each.reason for each in rewritten.actions if each.verb == "kept"] == ([reason] if reason else [])
    held = [each.subject for each in rewritten.actions if each.verb == "held"]
    assert held == ([] if reason else ["hydration by Alpine or is-land", "start.js"])
    assert not rewritten.demoted


@pytest.mark.parametrize(
    ("more", "is_seen", "reason"),
    [
        ("", True, None),
        ("", False, "only a browser says what it shows without scripts"),
        (TABS, True, None),
        ('<script type=x>["content.tabs.link"]</script>', True, "scripts run before a visitor uses anything"),
        ("<pre class=mermaid></pre>", True, "scripts run before a visitor uses anything"),
        ("<div class='highlight annotate'></div>", True, "scripts run before a visitor uses anything"),
        ("<meta http-equiv=Content-Security-Policy content='style-src *'>", True, POLICY),
    ],
)
def test_the_bundle_of_material_waits_where_a_browser_saw_its_stand_in(
    more: str, is_seen: bool, reason: str | None
) -> None:
    text = material_page().replace("<title>", f"{more}<title>") if more.startswith("<meta") else material_page(more)
    files = {"index.html": text, BUNDLE_PATH: BUNDLE}
    seen = {"index.html": PageEvidence((), is_same_without_scripts=True)} if is_seen else {}
    rewritten = SmallSite(files, evidence=seen).rewrite(steps=DROP, promise="words")
    assert [each.reason for each in rewritten.actions if each.verb == "kept"] == ([reason] if reason else [])
    assert (rewritten.content is None) == bool(reason)
    if rewritten.content is not None:
        tree = parse(rewritten.content.decode())
        assert [each.attr("data-later") for each in tree.select("script[type=adaptc-later]")] == [BUNDLE_PATH]
        assert "md-typeset__scrollwrap" in tree.select("script:not([type])")[0].text


def test_other_scripts_stay() -> None:
    stats = '<script async src="https://stats.example/s.js"></script>'
    others = f'{stats}<script src="/js/own.js"></script><script>own()</script>'
    text = adapted(prerendered("Docusaurus", after=others), **{"js/own.js": "x()"})
    assert others in text


def test_structured_data_stays() -> None:
    data = '<script type="application/ld+json">{"@type":"Thing"}</script>'
    assert data in adapted(prerendered("Next.js", head=data))


def test_scripts_that_move_streamed_parts_stay() -> None:
    links = "".join(f'<a href="/b.html?{number}">{number}</a>' for number in range(4))
    late = f'<div hidden id="S:0"><p>{"late " * 20}{links}</p></div>'
    streamed = late + '<script>$RC=function(b,c){};$RC("B:0","S:0")</script>'
    waiting = '<!--$?--><template id="B:0"></template><p>Loading</p><!--/$-->'
    content = f"<button class=menu-toggle></button><main><h1>A</h1>{waiting}</main>"
    assert streamed in adapted(prerendered("Next.js, app router", content, after=streamed))


@pytest.mark.parametrize(
    "script",
    [
        '<script src="/assets/js/main.75c38abc.js" defer></script>',
        '<script type="module" src="/assets/app.DJH2XMec.js"></script>',
        '<link rel="modulepreload" href="/assets/app.DJH2XMec.js"><script>import("/assets/app.DJH2XMec.js")</script>',
    ],
)
def test_pages_of_no_framework_stay(script: str) -> None:
    assert result(page(ARTICLE + script)).content is None


# ---- pages that need their scripts


@pytest.mark.parametrize("framework", [name for name in PAGES if name != "Astro"])
@pytest.mark.parametrize(
    "shell",
    ["", "<div class=spinner>Loading…</div>", "<header><p>" + "Name of the site " * 9 + "</p></header><main></main>"],
)
def test_shells_keep_their_scripts(framework: str, shell: str) -> None:
    assert kept_reason(prerendered(framework, shell)) == "its HTML holds hardly any text"


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ('<template data-dgst="BAILOUT_TO_CLIENT_SIDE_RENDERING"></template>', "a script writes a part of it"),
        ("<div aria-busy=true>Loading</div>", "a script writes a part of it"),
        ("<canvas width=300 height=200></canvas>", "a script draws a part of it"),
        (
            "<form><input name=user><input type=password name=word><button>Log in</button></form>",
            "a script sends its form",
        ),
        ("<form><textarea name=message></textarea><button>Send</button></form>", "a script sends its form"),
    ],
)
def test_pages_with_parts_of_scripts_keep_them(part: str, reason: str) -> None:
    assert kept_reason(prerendered("Next.js", ARTICLE.replace("</main>", part + "</main>"))) == reason


def test_a_page_that_is_hidden_until_it_is_hydrated_stays() -> None:
    text = prerendered("Next.js", head="<style>body{display:none}</style>")
    assert kept_reason(text) == "it is hidden until a script shows it"


@pytest.mark.parametrize(
    ("link", "is_hidden"),
    [
        ("rel=stylesheet", True),
        ("rel=stylesheet media=screen", True),
        ("rel=stylesheet media=print", False),
        ("rel=stylesheet media=print onload=\"this.media='all'\"", True),
        ("rel=stylesheet media='(max-width:600px)'", True),
        ("rel=stylesheet media='(min-width:3000px)'", False),
        ("rel=stylesheet media='not print'", True),
        ("rel=stylesheet disabled", False),
        ("rel='alternate stylesheet'", False),
        ("rel='alternate stylesheet' title=dark", False),
        ("rel=stylesheet type=text/less", False),
        ("rel='stylesheet\u00a0next'", False),
    ],
)
def test_a_sheet_that_does_not_apply_hides_nothing_on_a_screen(link: str, is_hidden: bool) -> None:
    rewritten = result(prerendered("Docusaurus", head=f"<link {link} href=/a.css>"), **{"a.css": "body{display:none}"})
    reasons = [each.reason for each in rewritten.actions if each.verb == "kept"]
    assert reasons == (["it is hidden until a script shows it"] if is_hidden else [])


def test_an_island_that_only_a_script_writes_keeps_the_scripts() -> None:
    island = '<astro-island component-url="/_astro/Map.C0ffee12.js" client="only"></astro-island>'
    assert kept_reason(prerendered("Astro", ARTICLE + island)) == "a script writes a part of it"


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ("<ul class=ships></ul>", "a script fills a list of it"),
        ("<table><thead><tr><th>Ship<tbody></table>", "a script fills a list of it"),
        ("<ul><!--[--><!--]--></ul>", "a script fills a list of it"),
        ("<h2 class=title></h2>", "a script writes a heading of it"),
        ("<div class='card Skeleton_line'></div>", "a script writes a part of it"),
        ("<div role=progressbar></div>", "a script writes a part of it"),
        ("<!--$!--><template data-msg=x></template><!--/$-->", "a script writes a part of it"),
        ("<p>Loading...</p>", "it says that it loads"),
    ],
)
def test_pages_that_lack_what_scripts_bring_keep_them(part: str, reason: str) -> None:
    text = prerendered("Next.js", ARTICLE.replace("</main>", part + "</main>"))
    assert kept_reason(text) == reason
    seen = {"index.html": PageEvidence((), is_same_without_scripts=True)}
    site = SmallSite({"index.html": text, **FILES}, evidence=seen)
    assert site.rewrite(steps=DROP, promise="words").content is not None, "a browser knows better"


@pytest.mark.parametrize(
    ("script", "address"),
    [
        ("fetch('/ships.json').then(show)", "/ships.json"),
        ("window.fetch(`/api/ships/${id}`,{headers:h})", "/api/ships/"),
        ('(0,n.A).get("https://api.example/ships")', "https://api.example/ships"),
        ("new EventSource('/live')", "/live"),
        ('r.open("GET","ships.xml",!0)', "ships.xml"),
        ("await fetch(`${this.base()}/teams/?user=${id}`,{headers:h})", "/teams/?user="),
        ("fetch(`/api/ships?by=${searched}`)", "/api/ships?by="),
        ("fetch('/api/mail',{method:'POST',body:b})", ""),
        ("fetch(url,{credentials:'same-origin'})", ""),
        ("fetch(`${base}${path}`)", ""),
        ("fetch(`${host}/search?q=${word}`)", ""),
        ("fetch(`${this.base()}/teams/`,{method:'DELETE'})", ""),
        ('r.open("GET",url,!0)', ""),
        ("fetch('/search-index.json')", ""),
        ("cache.get('/')", ""),
    ],
)
def test_pages_keep_scripts_that_fetch_what_they_may_show(script: str, address: str) -> None:
    path = "_next/static/chunks/webpack-30b9dd9193356b11.js"
    rewritten = result(prerendered("Next.js"), **{path: FILES[path] + script})
    reasons = [action.reason for action in rewritten.actions if action.verb == "kept"]
    assert reasons == ([f"a script fetches what it may show: {address}"] if address else [])


SHEET = "main{margin:auto}"


@pytest.mark.parametrize(
    ("head", "sheet", "is_kept"),
    [
        ("", SHEET, True),
        ("", ".error-page{margin:auto}", False),
        (f"<style>{SHEET}</style>", "main { margin: auto; }", False),
        ("<link rel=stylesheet href=/_next/static/chunks/about.css>", SHEET + ".other{top:0}", False),
    ],
)
def test_pages_keep_scripts_that_may_load_a_sheet_which_changes_them(head: str, sheet: str, is_kept: bool) -> None:
    folder = "_next/static/chunks/"
    path = folder + "webpack-30b9dd9193356b11.js"
    text = prerendered("Next.js").replace("</head>", head + "</head>", 1)
    assert "</head>" in text
    files = {path: FILES[path] + "m=['./about.css']", folder + "about.css": sheet}
    reasons = [action.reason for action in result(text, **files).actions if action.verb == "kept"]
    assert reasons == [f"a script may load a sheet that changes it: {folder}about.css"] * is_kept


def test_an_island_that_fetches_keeps_the_scripts() -> None:
    files = {"_astro/Counter.C0ffee12.js": "fetch('/count').then(show)"}
    (action,) = result(prerendered("Astro"), **files).actions
    assert action.reason == "a script fetches what it may show: /count"


def test_the_outline_of_a_page_is_written_from_its_headings() -> None:
    outline = (
        "<aside><nav aria-labelledby=o class=VPDocAsideOutline data-v-1><div id=o>On this page</div>"
        "<ul class='VPDocOutlineItem root' data-v-1 data-v-2></ul></nav></aside>"
    )
    heading = '<h2 id=first-steps>First &amp; steps <a class=header-anchor href="#first-steps">\u200b</a></h2>'
    text = prerendered("VitePress", outline + f"<div class=VPDoc>{ARTICLE.replace('</h1>', '</h1>' + heading)}</div>")
    made = adapted(text)
    (link,) = parse(made).select(".VPDocOutlineItem.root > li[data-later-new][data-v-1] > a.outline-link[data-v-2]")
    assert (link.attr("href"), link.attr("title"), link.text) == ("#first-steps", "First & steps", "First & steps")
    assert 'class="VPDocAsideOutline has-outline"' in made
    deeper = text.replace("<script>window.__VP", '<script>x={"outline":"deep"};window.__VP')
    assert kept_reason(deeper) == "a script fills a list of it"


def test_a_page_that_gets_its_outline_waits_though_a_browser_saw_it_without() -> None:
    outline = "<nav class=VPDocAsideOutline><ul class='VPDocOutlineItem root'></ul></nav>"
    seen = {"index.html": PageEvidence((), is_same_without_scripts=False)}
    for heading, is_held in (("<h2 id=a>Steps</h2>", True), ("", False)):
        text = prerendered("VitePress", f"{outline}<div class=VPDoc>{heading}{ARTICLE}</div>")
        rewritten = SmallSite({"index.html": text, **FILES}, evidence=seen).rewrite(steps=DROP, promise="words")
        assert (rewritten.content is not None) == is_held, heading


def test_the_bar_of_a_narrow_window_names_the_outline() -> None:
    bar = (
        "<div class='VPLocalNav empty' data-v-3><div class=VPLocalNavOutlineDropdown><button data-v-4>Return to top"
        "</button></div></div>"
    )
    outline = (
        "<nav class=VPDocAsideOutline><div class=outline-title>On this page</div>"
        "<ul class='VPDocOutlineItem root'></ul>"
    )
    main = ARTICLE.replace("</h1>", "</h1><h2 id=steps>Steps</h2>")
    article = f"</nav><main class=VPDoc>{main}</main>"
    made = parse(adapted(prerendered("VitePress", bar + outline + article)))
    (button,) = made.select(".VPLocalNavOutlineDropdown > button[data-v-4]")
    assert [each.text for each in button.select("span")] == ["On this page", "", "Return to top"]
    assert button.select_one("span[hidden]").text == "Return to top"
    assert button.select_one("span.vpi-chevron-right[data-v-4]") is not None
    (local,) = made.select(".VPLocalNav[data-v-3]")
    assert local.attr("class") == "VPLocalNav"
    without = parse(adapted(prerendered("VitePress", bar + f"<main class=VPDoc>{ARTICLE}</main>")))
    assert without.select_one(".VPLocalNav.empty button[data-v-4]") is not None


WRITTEN_BAR = "<li><a class='vp-sidebar-item active' href=/b.html>Steps</a></li>"
OWN_BAR = "<li><p tabindex=0 class='vp-sidebar-item vp-sidebar-heading'>Steps <!----></p><!----></li>"


@pytest.mark.parametrize(
    ("items", "depths", "count"),
    [
        (WRITTEN_BAR, ("2",), 2),
        (WRITTEN_BAR, ("2", "0"), 0),
        (WRITTEN_BAR, (), 0),
        (OWN_BAR, ("2",), 2),
        (OWN_BAR + OWN_BAR, ("2",), 0),
    ],
)
def test_the_side_bar_of_vuepress_has_the_headings_of_its_page(items: str, depths: tuple[str, ...], count: int) -> None:
    bar = f"<ul class=vp-sidebar-items>{items}</ul>"
    headings = "<h2 id=one><a class=header-anchor href='#one'><span>One</span></a></h2><h3 id=two>Two</h3>"
    body = f"<div id=app>{bar}<div class=vp-page vp-content>{ARTICLE}{headings}</div></div>"
    head = '<meta name=generator content="VuePress 2"><script type=module src=/assets/app-BmTp4_j0.js></script>'
    script = "".join(f'x={{"sidebarDepth":{depth}}};' for depth in depths) + FILES["assets/js/main.75c38abc.js"]
    made = parse(adapted(page(body, head), **{"assets/app-BmTp4_j0.js": script}))
    assert len(made.select("script[type=adaptc-later]")) == 1
    links = made.select(".vp-sidebar-item + ul.vp-sidebar-children[data-later-new] a.vp-sidebar-item")
    assert [(each.attr("href"), each.text) for each in links] == [("#one", "One"), ("#two", "Two")][:count]


def test_the_switch_of_the_theme_has_its_label_unless_the_site_words_it() -> None:
    switch = f"<button class='VPSwitch VPSwitchAppearance' role=switch title></button><main>{ARTICLE}</main>"
    text = prerendered("VitePress", switch)
    assert 'title="Switch to dark theme"' in adapted(text)
    worded = text.replace("<script>window.__VP", '<script>x={"darkModeSwitchTitle":"Nacht"};window.__VP')
    assert "Switch to dark theme" not in adapted(worded)


def test_the_bar_of_a_page_has_the_width_that_a_script_gives_it() -> None:
    bar = "<div class=VPNavBar>Bar</div><div class='VPContent {}'>" + f"{ARTICLE}</div>"
    for mark, name in (("has-sidebar", "has-sidebar"), ("is-home", "home")):
        assert f'class="VPNavBar {name}"' in adapted(prerendered("VitePress", bar.format(mark)))
    assert "<div class=VPNavBar>" in adapted(prerendered("VitePress", bar.format("")))


def test_forms_with_an_action_and_searches_do_not_need_scripts() -> None:
    forms = "<form action=/send method=post><input name=a><input name=b></form><form><input type=search name=q></form>"
    text = adapted(prerendered("Next.js", ARTICLE.replace("</main>", forms + "</main>")))
    assert "type=adaptc-later" in text


# ---- what visitors can do


def test_what_other_frameworks_rendered_waits_as_well() -> None:
    script = "<script type=module src=/assets/main-4WRA7LQF.js></script>"
    files = {"assets/main-4WRA7LQF.js": FILES["main-4WRA7LQF.js"]}
    for mark in (
        "<!--[-->",
        "<!--$-->",
        "<i data-hk=0></i>",
        "<i q:container=paused></i>",
        "<!--lit-part x-->",
        "<div id=__root></div>",
    ):
        assert "type=adaptc-later" in adapted(page(mark + ARTICLE + script), **files), mark
    assert result(page("<!-- a -->" + ARTICLE + script), **files).content is None


def test_modules_of_a_page_of_astro_wait() -> None:
    inline = "<script type=module>document.querySelector('button').onclick=open</script>"
    theme = "<script>document.documentElement.dataset.theme='dark'</script>"
    module = '<script type=module src="/_astro/page.B1D.js"></script>'
    text = adapted(page(theme + ARTICLE + inline + module), **{"_astro/page.B1D.js": FILES["_astro/client.D1x.js"]})
    assert theme in text
    assert len(parse(text).select("script[type=adaptc-later]")) == 2


# A custom element that writes the heading which is read, with the module from which it inherits how it finds that
READS = "export class R extends HTMLElement{constructor(){super();new IntersectionObserver(this.show).observe(this)}}"
HEADING = "class h extends r{show=(e)=>{this.textContent=e}}"
WRITES = f"import{{R as r}}from'./read.D1x.js';{HEADING};customElements.define('x-here',h)"


@pytest.mark.parametrize(
    ("element", "reads", "writes", "runs"),
    [
        ("x-here", READS, WRITES, True),
        ("x-there", READS, WRITES, False),  # nothing on this page
        ("x-here", READS.replace("new IntersectionObserver", "new MutationObserver"), WRITES, False),
        ("x-here", READS, WRITES.replace("this.textContent=e", "this.title=e"), False),
        ("x-here", READS, WRITES.replace("this.textContent=e", "this.textContent==e"), False),
        ("x-here", WRITES, WRITES.replace("r{", "HTMLElement{"), False),
        ("x-here", READS + "import './write.D1x.js'", WRITES, True),  # they import each other
    ],
)
def test_a_custom_element_that_writes_where_a_visitor_is_does_not_wait(
    element: str, reads: str, writes: str, runs: bool
) -> None:
    files = {"_astro/read.D1x.js": reads, "_astro/write.D1x.js": writes}
    inline = f"<script type=module>{writes.replace('./', '/_astro/')}</script>"
    for tag in ('<script type=module src="/_astro/write.D1x.js"></script>', inline):
        other = '<script type=module src="/_astro/client.D1x.js"></script>'
        text = adapted(page(f"<{element}></{element}>{ARTICLE}{tag}{other}"), **files)
        assert (tag in text) == runs
        assert len(parse(text).select("script[type=adaptc-later]")) == 2 - runs


def test_a_page_of_which_nothing_waits_is_as_it_was() -> None:
    files = {"_astro/read.D1x.js": READS, "_astro/write.D1x.js": WRITES}
    module = '<script type=module src="/_astro/write.D1x.js"></script>'
    assert result(page(f"<x-here></x-here>{ARTICLE}{module}"), **files).content is None


def test_what_fades_in_keeps_the_scripts() -> None:
    words = "<p>" + "Words of a part that a script shows. " * 3 + "</p>"
    for style, is_kept in (
        ("opacity:0;transform:translateY(20px)", True),
        ("visibility:hidden", True),
        ("opacity:0;position:absolute", False),
        ("display:none", False),
    ):
        text = prerendered("Next.js", ARTICLE.replace("</main>", f'<div style="{style}">{words}</div></main>'))
        reasons = [each.reason for each in result(text).actions if each.verb == "kept"]
        assert reasons == (["a script fades a part of it in"] if is_kept else []), style


def test_a_policy_that_forbids_scripts_in_the_page_keeps_the_hydration() -> None:
    policy = "<meta http-equiv=Content-Security-Policy content=\"script-src 'self'\">"
    reason = "its Content-Security-Policy forbids the script that waits for visitors"
    assert kept_reason(prerendered("VitePress", head=policy)) == reason


def test_images_with_a_copy_for_browsers_without_scripts_are_shown() -> None:
    waiting = '<span><img alt="" src="data:image/gif;base64,R0"><noscript><img alt="" src="/a.png"></noscript></span>'
    text = adapted(prerendered("Next.js", ARTICLE.replace("</main>", waiting + "</main>")), **{"a.png": "x"})
    assert '<span><img alt="" src="/a.png"></span>' in text


# ---- levels


def test_rules_for_what_held_scripts_make_stay() -> None:
    rest = "".join(f".rest{number}{{margin:{number}px {number * 7}px}}" for number in range(150))
    head = "<link rel=stylesheet href=/a.css>"
    hydrating = prerendered("Docusaurus", ARTICLE + "<p class=used>u</p>", head=head)
    files = {"assets/js/main.75c38abc.js": FILES["assets/js/main.75c38abc.js"] + 'show("made")'}
    files["a.css"] = f".used{{color:red}}.made{{color:blue}}{rest}"
    level = plan_level(load_levels(known_passes=KNOWN_PASSES)["unhydrated"])
    steps = tuple(step for step in level.steps_for(media.HTML) if step.name in ("prerendered", "used-styles"))
    text = adapted(hydrating, steps, **files)
    assert ".used{" in text or "/a.css" in text
    assert ".made{" in text or "/a.css" in text


@pytest.mark.parametrize(("name", "base"), [("unhydrated", "moderate"), ("deferred", "web")])
def test_levels_at_which_hydration_waits_are_others_but_for_that(name: str, base: str) -> None:
    levels = load_levels(known_passes=KNOWN_PASSES)
    kept, held = ({use.name: use for use in levels[each].passes} for each in (base, name))
    assert kept["prerendered"].option("hydration") == ("applications" if base == "moderate" else "keep")
    assert held["prerendered"].option("hydration") == "drop"
    assert list(kept) == list(held)
    assert [each for each in kept if kept[each] != held[each]] == ["prerendered"]


def test_islands_load_their_scripts_unless_they_wait() -> None:
    text = prerendered("Astro")
    view = SmallSite({"index.html": text, **FILES}).view()
    scripts = {"_astro/Counter.C0ffee12.js", "_astro/client.D1x.js"}
    assert scripts <= set(embedded_files_of("index.html", text.encode(), view))
    assert scripts.isdisjoint(result(text).embeds or ())


@pytest.mark.parametrize("framework", PAGES)
def test_what_waits_is_not_loaded_with_the_page(framework: str) -> None:
    loads = result(prerendered(framework)).embeds
    assert loads is not None
    assert not [path for path in loads if path.endswith((".js", ".json"))]


@pytest.mark.parametrize(
    ("image", "loaded"),
    [
        ("<img data-src=a.png src=data:image/gif;base64,R0>", {"src": "a.png"}),
        ("<img data-src=a.png data-srcset='a.png 2x' src=/i/blank.gif>", {"src": "a.png", "srcset": "a.png 2x"}),
        ("<img class=lazyload data-src=a.png src=b.png srcset='b.png 2x'>", {"src": "a.png"}),
        ("<picture><source data-srcset=a.png><img src=b.png></picture>", {"srcset": "a.png"}),
        ("<img data-src=a.png src=b.png>", None),
        ("<img data-src='{}' src=''>", None),
    ],
)
def test_images_that_a_held_script_would_load_are_loaded(image: str, loaded: dict[str, str] | None) -> None:
    made = parse(
        adapted(prerendered("Docusaurus", ARTICLE + image), **{"a.png": "x", "b.png": "x", "i/blank.gif": "x"})
    )
    before, after = (tree.select("img, source")[0] for tree in (parse(image), made))
    sources = {name: value for name, value in after.attrs.items() if name in ("src", "srcset")}
    assert sources == ({name: v for name, v in before.attrs.items() if name == "src"} if loaded is None else loaded)


# ---- what a browser saw scripts write

LIST = "<h1>Ships</h1><p>These are the ships in the dock, as the office wrote them down this morning.</p>"
SEEN = PageEvidence((), "ab12", written="ab12")


def written(
    before: str,
    after: str,
    head: str = "",
    evidence: PageEvidence = SEEN,
    steps: tuple[Step, ...] = DROP,
    own_head: str = "",
    title: str = "T",
    body: str = "<body>",
    end: str = "",
    root: str = '<html lang="en">',
) -> PageResult:
    """A page whose root has ``before`` in its markup, and ``after`` once its scripts ran; heads as well."""
    script, bundle = "<script type=module src=/assets/index-DSXtc1GT.js></script>", FILES["assets/js/main.75c38abc.js"]
    text, seen = (
        page(f"<div id=__app>{each}</div>", extra) for each, extra in ((before, own_head + script), (after, head))
    )
    files = {"index.html": text, "assets/index-DSXtc1GT.js": f"{bundle}//{bundle[::-1]}", "a.png": "x", "a.css": ""}
    changes = (
        (script, ""),
        (">T</title>", f">{title.replace('<', '&lt;')}</title>"),
        ("<body>", body),
        ('<html lang="en">', root),
    )
    for old, new in (*changes, ("</body>", f"{end}</body>")):
        seen = seen.replace(old, new)
    site = SmallSite(files, evidence={"index.html": evidence}, documents={"ab12": seen})
    return site.rewrite(steps=steps, promise="words")


ITEMS = "<li>Ark</li><li>Beagle <img src=/a.png></li>"


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (f"{LIST}<ul><!--[--><!--]--></ul>", f"{LIST}<ul>{ITEMS}</ul>", "<!--[--><!--]-->"),
        (f"{LIST}<table><tbody></tbody></table>", f"{LIST}<table><tbody><tr><td>Ark</table>", None),
        ("", f"<main>{LIST}<ul>{ITEMS}</ul></main>", ""),
        (f"{LIST}<ul></ul>", f"{LIST}<ul>{ITEMS}</ul><next-route-announcer></next-route-announcer>", ""),
        (f"{LIST}<div><p>Loading</p></div>", f"{LIST}<div><ul>{ITEMS}</ul></div>", ""),
        ("", f"<main>{LIST}<button tabindex=0>Ark</button><input></main>", ""),
    ],
)
def test_a_page_shows_what_its_scripts_write_until_they_run(before: str, after: str, kept: str | None) -> None:
    made = written(before, after)
    assert made.content is not None and not made.demoted, (made.actions, made.diagnostics)
    tree = parse(made.content.decode())
    assert "Ark" in tree.select_one("#__app").text and tree.select_one("script[type=adaptc-later]") is not None
    if kept is not None:
        assert tree.select_one("[data-later-html]").attr("data-later-html") == kept
    loaded = [each.subject for each in made.actions if each.verb == "written"][1:]
    assert loaded == (["a.png"] if "a.png" in after else [])


@pytest.mark.parametrize(("before", "waits"), [("", True), (f"{LIST}<ul></ul>", False)])
def test_applications_alone_wait_where_only_they_are_to(before: str, waits: bool) -> None:
    steps = (Step(BY_NAME["prerendered"], {"hydration": "applications"}),)
    made = written(before, f"{LIST}<ul>{ITEMS}</ul>", steps=steps)
    assert (b"adaptc-later" in (made.content or b"")) == waits


def test_words_that_scripts_replace_stay_hidden() -> None:
    made = written(f"{LIST}<div><p>Loading</p></div>", f"{LIST}<div><ul>{ITEMS}</ul></div>")
    (kept,) = parse((made.content or b"").decode()).select("div > span[hidden][data-later]")
    assert kept.inner_html == "<p>Loading</p>"


YEAR = "<script>document.currentScript.replaceWith((new Date).getFullYear())</script>"


@pytest.mark.parametrize("before", ["<!-- -->2026<!-- -->", ""], ids=["prerendered", "of-scripts"])
def test_the_year_of_a_notice_is_that_in_which_the_page_is_read(before: str) -> None:
    note = '<div class="page wrap" style="{}">© {}<!-- --> Acme</div>'
    own = f"{LIST}{note.format('color:red;margin:0 1px', before)}" if before else ""
    made = written(own, f"{LIST}{note.format('color: red; margin: 0 1px;', '2023')}")
    assert made.content is not None and not made.demoted, (made.actions, made.diagnostics)
    text = made.content.decode()
    assert f"© {YEAR}<!-- --> Acme" in text and 'class="page wrap"' in text
    assert ("<span hidden data-later>© <!-- -->2026<!-- -->" in text) is bool(before)


@pytest.mark.parametrize(
    "text",
    [
        "Open until 2023",
        "© 14 November 2023",
        "© Nov 2023",
        "© 11/14/2023",
        "<a href=/2023/>© 2023</a>",
        "<select><option>© 2023</select>",
    ],
)
def test_what_else_shows_the_day_is_not_written(text: str) -> None:
    (action,) = written(f"{LIST}<div></div>", f"{LIST}<div><p>Words</p><div>{text}</div></div>").actions
    assert (action.verb, action.reason) == ("kept", "without scripts, a browser does not show the same")


@pytest.mark.parametrize(
    ("own", "marks", "filled"),
    [("", " data-v-app", "root"), ("", " class=dark", "root"), ("<p>Loading</p>", " data-v-app", "root")],
    ids=["mark", "class", "words"],
)
def test_an_application_may_mark_the_empty_element_that_it_fills(own: str, marks: str, filled: str) -> None:
    root = "<div id=root{}>{}</div>"
    made = written(f"{LIST}{root.format('', own)}", f"{LIST}{root.format(marks, f'<ul>{ITEMS}</ul>')}")
    tree = parse((made.content or b"").decode())
    assert tree.select_one("[data-later-html]").attr("id") == filled
    assert tree.select_one("#root").attr("data-v-app") == ("" if "data-v-app" in marks else None)


@pytest.mark.parametrize("has_own", [True, False])
def test_images_that_scripts_write_count_as_at_the_levels_above(has_own: bool) -> None:
    own = f"{LIST}<img src=/a.png>" if has_own else LIST
    loads = written(f"{own}<ul></ul>", f"{own}<ul>{ITEMS}</ul>").embeds
    assert loads is not None and ("a.png" in loads) is has_own


ADDED = "<style data-emotion=css media=screen>b{color:red}</style>"


@pytest.mark.parametrize(
    ("own", "after", "wanted"),
    [
        ("<style>i{color:blue}</style>", "<style>i{color:blue}</style>" + ADDED, "b{color:red}</style></head>"),
        ("<style>i{color:blue}</style>", ADDED + "<style>i{color:blue}</style>", "b{color:red}</style><style>i{"),
        ("", ADDED, "b{color:red}</style></head>"),
        ("<style>i{color:blue}</style>", ADDED, None),
        ("", f"{ADDED}<link rel=stylesheet href=a.css>", None),
    ],
    ids=["after", "before", "alone", "lost", "file"],
)
def test_sheets_that_scripts_add_are_in_the_head_until_they_run(own: str, after: str, wanted: str | None) -> None:
    made = written(f"{LIST}<ul></ul>", f"{LIST}<ul>{ITEMS}</ul>", after, own_head=own)
    text = (made.content or b"").decode()
    assert ("adaptc-later" in text) is (wanted is not None)
    if wanted is not None:
        assert wanted in text and "<style data-later media=screen>b{color:red}" in text


@pytest.mark.parametrize(
    ("classes", "place", "waits"),
    [
        ("theme-light", "<div class=portal><ul></ul></div>", True),
        ("theme-light", "<div class=portal>Words</div>", True),
        ("desktop", "", False),
        ("theme-light", "<div class=portal><iframe src=/b.html></iframe></div>", False),
        ("theme-light", "<div class=portal>We use cookies.</div>", False),
        ("theme-light", "<div class=portal>Get it for Linux</div>", False),
        ("theme-light", "<div class=portal title='November 2023'>Words</div>", False),
    ],
    ids=["place", "words", "device", "frame", "notice", "system", "day"],
)
def test_scripts_may_add_classes_and_elements_to_the_body(classes: str, place: str, waits: bool) -> None:
    made = written(f"{LIST}<ul></ul>", f"{LIST}<ul>{ITEMS}</ul>", body=f"<body class={classes}>", end=place)
    text = (made.content or b"").decode()
    assert ("adaptc-later" in text) is waits
    if waits:
        assert "<body class=theme-light>" in text
        assert ("<div data-later-new class=portal>Words</div></body>" in text) is ("Words" in place)


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("<p>One</p><b>Two</b>", "<p>One</p><i>New</i><b>Two</b>", "</p><i data-later-new>New</i><b>"),
        ("<p>One</p> two", "<p>One</p><i>New</i><br> two", "</p><i data-later-new>New</i><br data-later-new> two"),
        ("<p>One</p>", "<p>One</p><i>New</i>", "</p><i data-later-new>New</i></div>"),
        ("one <p>Two</p>", "<i>New</i>one <p>Two</p>", "<i>New</i>one <p>Two</p><span hidden data-later>"),
    ],
    ids=["before", "after", "end", "between-texts"],
)
def test_elements_that_scripts_add_are_written(before: str, after: str, wanted: str) -> None:
    made = written(f"{LIST}<div>{before}</div>", f"{LIST}<div>{after}</div>")
    assert wanted in (made.content or b"").decode() and not made.demoted


def test_attributes_that_scripts_change_are_written_and_what_they_were() -> None:
    made = written(f"{LIST}<p class=a hidden>One</p>", f"{LIST}<p class='a on' title=T>One</p>")
    (changed,) = parse((made.content or b"").decode()).select("[data-later-was]")
    assert (changed.attr("class"), changed.attr("title"), "hidden" in changed.attrs) == ("a on", "T", False)
    assert json.loads(changed.attr("data-later-was") or "") == {"class": "a", "title": None, "hidden": ""}


@pytest.mark.parametrize("is_set", [False, True])
def test_attributes_of_the_root_are_written_unless_a_script_in_the_page_sets_them(is_set: bool) -> None:
    own = "<script>document.documentElement.dataset.theme ??= 'dark'</script>" * is_set
    made = written(f"{LIST}<ul></ul>", f"{LIST}<ul>{ITEMS}</ul>", own_head=own, root="<html lang=en data-theme=light>")
    assert b"adaptc-later" in (made.content or b"")
    assert (b"data-theme=light" in (made.content or b"")) is not is_set


def test_edits_of_earlier_passes_in_the_head_hinder_nothing() -> None:
    icon = "<link rel=icon href=/a.png><style>i{color:blue}</style>"
    late = Step(BY_NAME["late-styles"], {})
    sheet = "<link rel=stylesheet href=/a.css media=print onload=\"this.media='all'\">"
    steps = (late, *DROP)
    made = written(
        f"{LIST}<ul></ul>", f"{LIST}<ul>{ITEMS}</ul>", f"{sheet}{icon}{ADDED}", steps=steps, own_head=sheet + icon
    )
    text = (made.content or b"").decode()
    assert "adaptc-later" in text and "b{color:red}</style></head>" in text


def test_title_and_description_that_scripts_give_to_a_page_are_in_it() -> None:
    site_of = partial(written, f"{LIST}<ul></ul>", f"{LIST}<ul>{ITEMS}</ul>")
    made = site_of("<meta name=description content=Ships data-rh=a>", title="<i> Dock")
    text = (made.content or b"").decode()
    assert '<script>document.title="\\u003ci> Dock"</script>' in text
    assert "<title>T</title>" in text and "<meta name=description content=Ships></head>" in text
    for other in ("<meta http-equiv=refresh content=9>", "<meta name=date content=2023-11-14>"):
        assert site_of(other).actions[0].verb == "kept"


META, ONE, TWO = "<meta name=author content=Ann>", "<link rel=stylesheet href=a.css>", "<style>p{color:red}</style>"


@pytest.mark.parametrize(("after", "waits"), [(META + ONE + TWO, True), (TWO + ONE + META, False), (ONE + TWO, False)])
def test_the_place_of_an_element_in_the_head_does_not_matter_but_for_sheets(after: str, waits: bool) -> None:
    made = written(f"{LIST}<ul></ul>", f"{LIST}<ul>{ITEMS}</ul>", after, own_head=ONE + TWO + META)
    assert (b"adaptc-later" in (made.content or b"")) == waits


@pytest.mark.parametrize(
    ("after", "head", "evidence"),
    [
        (f"{LIST}<ul>{ITEMS}</ul>", "<link rel=stylesheet href=/a.png>", SEEN),
        (f"{LIST}<ul class=b>{ITEMS}</ul><form><input><input></form>", "", SEEN),
        (f"{LIST}<ul>{ITEMS}<li>On 11/14/2023</ul>", "", SEEN),
        (f"{LIST}<ul>{ITEMS}<li><iframe src=x.html></iframe></ul>", "", SEEN),
        (f"{LIST}<ul>{ITEMS}</ul>", "", PageEvidence((), "ab12")),
    ],
)
def test_scripts_run_that_change_more_or_what_may_be_another_tomorrow(
    after: str, head: str, evidence: PageEvidence
) -> None:
    (action,) = written(f"{LIST}<ul></ul>", after, head, evidence).actions
    assert (action.verb, action.reason) == ("kept", "without scripts, a browser does not show the same")


def test_what_only_held_scripts_load_is_named() -> None:
    files = {**FILES, "assets/js/a.12345678.js": "1", "assets/js/b.12345678.js": "2"}
    seen = PageEvidence((), is_same_without_scripts=True, loaded=("assets/js/a.12345678.js", "assets/js/b.12345678.js"))
    text = prerendered("Docusaurus").replace("</body>", "<script>import('/assets/js/b.12345678.js')</script></body>")
    made = SmallSite({"index.html": text, **files}, evidence={"index.html": seen}).rewrite(steps=DROP, promise="words")
    assert "assets/js/a.12345678.js" in [each.subject for each in made.actions if each.verb == "held"]


@pytest.mark.parametrize("waits", [True, False])
def test_an_image_that_has_a_copy_counts_once_more_where_a_script_that_runs_names_it(waits: bool) -> None:
    named, bundle = "const a='/i/a.jpg';", "assets/js/main.75c38abc.js"
    text = prerendered("Docusaurus", f"{ARTICLE}<img src=/i/a.jpg>")
    if not waits:
        text = text.replace("</body>", f"<script>{named}</script></body>")
    site = SmallSite({"index.html": text, **FILES, "i/a.jpg": photo_file(), bundle: named + FILES[bundle]})
    halved = BY_NAME["half-images"]
    options = {**{key: option.default for key, option in halved.options.items()}, "budget": 9999, "largest": 9999}
    loads = site.rewrite(steps=(*DROP, Step(halved, options)), promise="words").embeds
    assert loads is not None
    assert ("i/a.jpg" in loads) is not waits
