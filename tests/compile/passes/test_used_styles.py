"""used-styles: the rules that a page uses stand in it, in the order of the cascade."""

from __future__ import annotations

import re

import pytest

from tests.sites.small import SmallSite

from adaptc.browser.evidence import PageEvidence, WidthEvidence
from adaptc.compile.pipeline import BY_NAME, KNOWN_PASSES, Step, plan_level
from adaptc.compile.view import Settings
from adaptc.config.rulebook import load_levels
from adaptc.core import media

HEAD = "<!doctype html><meta charset=utf-8><title>T</title>"
NOISE = "".join(f".unused{number}{{margin:{number}px {number * 7}px}}" for number in range(60))
LONG = NOISE.replace("}", ";padding:1px 2px 3px 4px;border:1px solid #123456;background:none;font:inherit}")


STEPS = (Step(BY_NAME["used-styles"], {}),)


def made(body="<p class=a>text", *, head, files=(), settings=None, path="index.html", promise="article", **site):
    """Return the page after the pass. The sheet noise.css makes it worth while."""
    files = {path: f"{HEAD}{head}<body>{body}", "noise.css": NOISE, **dict(files)}
    done = SmallSite(files, settings=settings or Settings(), **site).rewrite(path, STEPS, promise)
    assert not done.demoted, done.diagnostics
    return (files[path].encode() if done.content is None else done.content).decode()


LINKS = "<link rel=stylesheet href=noise.css><link rel=stylesheet href=css/a.css>"


def sheet(css, body="<p class=a>text", **options):
    """Return the style elements of a page with one sheet that says something."""
    text = made(body, head=LINKS, files={"css/a.css": css, "css/i.png": "x", "i.png": "x"}, **options)
    return text[text.index("<style") : text.index("<body")] if "<style" in text else ""


def test_only_what_is_used_moves_into_the_page():
    assert sheet(".a{color:red}.b{color:blue}") == "<style>.a{color:red}</style>"


def test_states_and_media_are_kept():
    css = ".a:hover{color:red}@media print{.a{color:#000}}@media(max-width:9px){.a{margin:0}.c{padding:0}}"
    assert "print{.a{" in sheet(css)
    assert ".a:hover" in sheet(css)
    assert ".c" not in sheet(css)


def test_the_order_of_the_cascade_is_kept():
    head = (
        "<link rel=stylesheet href=noise.css><style>.a{color:red}</style><link rel=stylesheet href=a.css media=print>"
    )
    text = made(head=head + "<style>.a{color:lime}</style>", files={"a.css": ".a{color:blue}"})
    assert text.count("<style") == 1
    assert "<style>.a{color:red}\n@media print{.a{color:blue}}\n.a{color:lime}</style>" in text


def test_sheets_that_are_not_applied_go():
    head = (
        "<link rel=stylesheet href=noise.css title=day><link rel='alternate stylesheet' title=night href=a.css>"
        "<link rel=stylesheet title=night href=a.css><link rel=stylesheet disabled href=a.css>"
    )
    text = made(head=head, files={"a.css": ".a{color:blue}"})
    assert "<link" not in text
    assert "<style" not in text


def test_a_sheet_that_the_site_does_not_have_stays():
    """A server may have it: in another directory, or below a base path of which the build does not know."""
    for address in ("gone.css", "/base/a.css"):
        text = made(head=f"<link rel=stylesheet href={address}><style>.a{{color:red}}</style>", files={"a.css": ".a{}"})
        assert f"<link rel=stylesheet href={address}><style>.a{{color:red}}</style>" in text


def test_sheets_of_other_sites_stay_in_their_place():
    head = "<style>.a{color:red}</style><link rel=stylesheet href=https://x.example/a.css>"
    text = made(head=head + "<link rel=stylesheet href=noise.css><style>.a{color:lime}</style>")
    assert "</style><link rel=stylesheet href=https://x.example/a.css><style>.a{color:lime}" in text


def test_imports_are_taken_in():
    head = "<style>@import 'noise.css';@import 'css/a.css' print;</style>"
    text = made(head=head, files={"css/a.css": ".a{color:red}"})
    assert "import" not in text
    assert "@media print{" in text


def test_an_import_from_another_site_starts_a_sheet():
    styles = "<style>.a{color:red}</style><style>@import '//x.example/a.css';.a{margin:0}</style>"
    assert styles in made(head="<link rel=stylesheet href=noise.css>" + styles)


def test_the_urls_of_images_are_written_for_the_page():
    text = sheet(".a{background:url(i.png)}")
    assert "url(css/i.png)" in text


def test_style_attributes_keep_what_they_use():
    text = sheet(":root{--x:red;--y:blue}.a{margin:0}", "<p class=a style='color:var(--x)'>text")
    assert "--x:red" in text
    assert "--y" not in text


def test_what_would_end_a_style_element_is_escaped():
    assert 'content:"<\\/style>"' in sheet('.a:before{content:"</style>"}')


def test_a_malformed_sheet_stays_and_is_reported():
    files = {"index.html": f"{HEAD}{LINKS}<body><p class=a>t", "noise.css": NOISE, "css/a.css": ".a{color:red"}
    done = SmallSite(files).rewrite(steps=STEPS, promise="article")
    assert "css/a.css" in (done.content or b"").decode()
    reasons = {action.subject: action.reason for action in done.actions if action.verb == "kept"}
    assert reasons["css/a.css"].startswith("it is malformed")


def test_a_page_in_another_encoding_gets_escapes():
    page = "<!doctype html><meta charset=iso-8859-1><title>T</title>" + LINKS + "<p class=a>é"
    files = {"index.html": page.encode("latin-1"), "noise.css": NOISE, "css/a.css": '.a:before{content:"→ a"}'}
    done = SmallSite(files).rewrite(steps=STEPS, promise="article")
    assert '"\\2192  a"' in (done.content or b"").decode("latin-1")


@pytest.mark.parametrize(
    ("body", "settings", "reason"),
    [
        ("<p class=a>t", Settings(csp="default-src 'self'"), "a Content-Security-Policy"),
    ],
)
def test_pages_that_keep_their_sheets(body, settings, reason):
    files = {"index.html": f"{HEAD}{LINKS}<body>{body}", "noise.css": NOISE, "css/a.css": ".a{color:red}"}
    done = SmallSite(files, settings=settings).rewrite(steps=STEPS, promise="article")
    assert done.content is None
    assert done.actions[0].reason.startswith(reason)


# ---- icons


def test_unseen_text_next_to_other_text_or_without_an_icon_stays_so():
    text = made(
        "<a href=b.html><i></i>Go <b class=sr-only>on</b></a><a href=b.html><b class=sr-only>Skip</b></a>",
        head=LINKS,
        files={"b.html": "", "css/a.css": ""},
    )
    assert "display:inline" not in text


# ---- pages with scripts


REST = "".join(f".rest{number}{{margin:{number}px {number * 7}px}}" for number in range(300))


def live(css, body="<p class=a>text", script="", files=(), **options):
    """Return the style elements of a page whose scripts stay, and what stands before the first."""
    head = f"{LINKS}<script>{script}</script>"
    files = {"css/a.css": css + REST, "css/i.woff": "x", "css/b.png": "x", **dict(files)}
    text = made(body, head=head, files=files, promise="words", **options)
    return text[text.index("<title>") : text.index("<script")]


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ("e.classList.add('open')", ".open"),
        ("e.className = 'step' + n", ".step12"),
        ("e.className = 'md:flex'", ".md\\:flex"),
        ("e.innerHTML = '<section>'", "section"),
        ("e.setAttribute('aria-busy', 'true')", "[aria-busy]"),
        ("e.dataset.theme = 'dark'", "[data-theme=dark]"),
        ("e.dataset['darkMode'] = 1", "[data-dark-mode]"),
        ("show({active: true}); e.hidden = true", ".active"),
        ("show({active: true}); e.hidden = true", "[hidden]"),
        ("e.id = 'late'", "#late"),
        ("'unfinished late", ".late"),
        ("use({NavBar: 1})", ".nav-bar"),
        ("e.className = 'alert-' + (ok ? 'success' : 'danger')", ".alert-danger"),
    ],
)
def test_names_that_a_script_is_likely_to_bring_in_count_as_used(script, kept):
    text = live(f".a{{color:red}}{kept}{{color:blue}}.none{{margin:0}}", script=script)
    assert f"{kept}{{" in text
    assert ".none" not in text


def test_what_a_script_looks_up_or_calls_so_it_does_not_bring_in():
    css = ".a{color:red}.open{color:blue}.tab{top:1px}"
    text = live(css, script="/* open */ var open = tab(wide); q('.tab > #open')")
    assert text.endswith("<style>.a{color:red}</style><link data-used href=css/a.css>")


@pytest.mark.parametrize(
    "held",
    [
        "<template><p class=b></template>",
        "<noscript><p class=b></p></noscript>",
        "<p data-toggle-class='b'>",
        "<p :class=\"{'b': open}\">",
        "<p _='on click add .b'>",
        "<p uk-toggle='cls: b'>",
    ],
)
def test_names_that_the_markup_holds_for_scripts_count_as_used(held):
    text = live(".a{color:red}.b{color:blue}.none{margin:0}", f"<p class=a>text{held}", "run()")
    assert ".b{" in text
    assert ".none" not in text


@pytest.mark.parametrize(
    ("body", "script"),
    [
        ("", "e.className = 'fa-' + icon"),
        ("", "e.className = base + '-b', base = 'fa'"),
        ("", "$('#nav').load('parts/nav.html')"),
        ("", "fetch('parts/list.json').then(r => r.json()).then(d => { box.innerHTML = d.html })"),
        ("<script type=application/json>{'class':'fa-b'}</script>", "run()"),
    ],
)
def test_names_that_are_composed_or_come_from_data_have_their_rules_wait(body, script):
    files = {"parts/nav.html": "<ul><li class=fa-b>none</ul>", "parts/list.json": '{"html": "<li class=\\"fa-b\\">"}'}
    text = live(".a{color:red}.fa-b{color:blue}", f"<p class=a>text{body}", script, files)
    assert "<style>.a{color:red}</style><link data-used href=css/a.css>" in text


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ("document.createElement('script').src = 'lib/more.js'", ".open"),
        ("import './lib/module.js'", ".deep"),
        ("import('./lib/module.js')", ".deep"),
    ],
)
def test_names_in_files_that_scripts_name_count_as_used(script, kept):
    names = (".a", ".open", ".deep", ".none")
    css = "".join(f"{name}{{top:{number}px}}" for number, name in enumerate(names))
    files = {
        "css/a.css": css + REST,
        "lib/more.js": "e.className = 'open'",
        "lib/module.js": "import './deep.js'",
        "lib/deep.js": "e.className = 'deep'",
    }
    head = f"{LINKS}<script type=module>{script}</script>"
    text = made(head=head, files=files, promise="words")
    assert f"{kept}{{" in text
    assert ".none{" not in text


WEBPACK = "r.u = e => 'js/' + e + '.' + {12: '4f5a9c01', 97: 'dc6b3407'}[e] + '.js'"
CHUNKS = {
    "js/12.4f5a9c01.js": "e.className = 'deep'",
    "js/97.dc6b3407.js": "e.className = 'open'",
    "js/34.1f2e3d4c.js": "e.className = 'none'",
}


def with_chunks(chunks, **options):
    css = "".join(f".{name}{{top:{number}px}}" for number, name in enumerate(("a", "open", "deep", "none")))
    head = options.pop("head", f"<script>{WEBPACK}</script>")
    return made(head=LINKS + head, files={"css/a.css": css + REST, **chunks}, promise="words", **options)


INFERRED = PageEvidence((WidthEvidence(412, names=frozenset({"a"})),))


@pytest.mark.parametrize("evidence", [{}, {"index.html": INFERRED}])
def test_names_in_chunks_count_as_used_whose_names_a_loader_composes(evidence):
    text = with_chunks(CHUNKS, evidence=evidence)
    assert ".open{" in text
    assert ".deep{" in text
    assert ".none{" not in text
    assert "<link data-used" in text


def test_a_browser_knows_which_chunks_a_page_loads():
    seen = PageEvidence((WidthEvidence(412, names=frozenset({"a", "deep"})),), document="0" * 64)
    text = with_chunks(CHUNKS, evidence={"index.html": seen})
    assert ".deep{" in text
    assert ".open{" not in text


def test_sheets_are_whole_in_the_page_where_a_loader_has_many_chunks():
    digests = {number: f"{number:03}abcdef" for number in range(100, 200)}
    chunks = {f"js/{number}.{digest}.js": "" for number, digest in digests.items()}
    text = with_chunks(chunks, head=f"<script>r.u = e => e + '.' + {digests} + '.js'</script>")
    assert ".none{" in text
    assert "data-used" not in text


def test_chunks_of_a_loader_that_waits_do_not_count():
    held = f"<script type=adaptc-later>{WEBPACK}</script><script>run()</script>"
    text = with_chunks(CHUNKS, head=held)
    assert ".open{" not in text
    assert "<link data-used" in text


@pytest.mark.parametrize("waits", [True, False])
def test_what_a_script_brings_in_while_others_wait_was_not_seen(waits):
    banner = "<script>document.body.insertAdjacentHTML('beforeend', '<p class=banner>Lost')</script>"
    held = "<script type=adaptc-later>run()</script>" * waits
    seen = PageEvidence((WidthEvidence(412, names=frozenset({"a"})),), document="0" * 64)
    css = f".a{{color:red}}.banner{{display:none}}{REST}"
    text = made(head=LINKS + held + banner, files={"css/a.css": css}, promise="words", evidence={"index.html": seen})
    assert (".banner{display:none}" in text) is waits
    assert "<link data-used" in text


def test_rules_that_lack_a_name_wait_in_their_files():
    files = {"css/a.css": f".a{{color:red}}{REST}", "b.css": f"/*! MIT */{REST}p{{margin:0}}", "c.css": "p.open{top:0}"}
    head = (
        "<link rel=stylesheet href=css/a.css><link rel=stylesheet href=b.css media=print>"
        "<style>.open{left:0}</style><link rel=stylesheet href=c.css><script>run()</script>"
    )
    text = made(head=head, files=files, promise="words")
    assert re.findall(r"<style[^>]*>.*?</style>", text) == [
        "<style>.a{color:red}</style>",
        "<style>@media print{/*! MIT */p{margin:0}}</style>",
        "<style>.open{left:0}</style>",
    ]
    links = ["css/a.css", "b.css media=print", "c.css"]
    assert re.findall(r"</style><link data-used href=([^>]*)>", text) == links
    assert text.count("<script>") == 2


@pytest.mark.parametrize(
    "script",
    [
        "$('html').addClass('bar-off')",
        "e.classList.add('a', 'bar-off')",
        "e.className = 'bar-off'",
        "h('nav',{class:'bar-off'})",
        'jsx("nav", {className: "bar-off"})',
    ],
)
def test_a_class_that_a_script_adds_and_no_rule_has_wakes_none(script):
    css = ".a{color:red}" + "".join(f".bar-{number} .b{{top:{number}px}}" for number in range(200))
    text = made(head=f"{LINKS}<script>{script}</script>", files={"css/a.css": css}, promise="words")
    assert "<link data-used" in text
    assert ".bar-off" in text  # the rules wait for what begins with .bar-, but for this


@pytest.mark.parametrize(("rule", "name"), [("[bar-{}] .b", "[bar-off"), ("bar-{} .b", "bar-off")])
def test_a_name_that_a_browser_saw_and_no_rule_has_wakes_none(rule, name):
    css = ".a{color:red}" + "".join(f"{rule.format(f'a{number}')}{{top:{number}px}}" for number in range(200))
    seen = PageEvidence((WidthEvidence(1280, names=frozenset({"bar-off"})),), "ab12")
    script = "<script>document.title=1</script>"
    text = made(head=LINKS + script, files={"css/a.css": css}, promise="words", evidence={"index.html": seen})
    known = re.search(r'new Set\("([^"]*)"', text)
    assert "<link data-used" in text and known is not None and name in known[1].split()


def test_little_is_not_worth_a_script():
    text = made(head="<link rel=stylesheet href=a.css><script>run()</script>", promise="words",
                files={"a.css": f".a{{color:red}}{REST[:2000].rpartition('}')[0]}}}"})  # fmt: skip
    assert ".rest9{" in text
    assert "data-used" not in text


def test_a_sheet_of_which_the_page_needs_most_is_whole_in_it():
    used = "".join(f".a{{margin:{number}px}}" for number in range(5000))
    head = "<link rel=stylesheet href=a.css><link rel=stylesheet href=b.css><script>run()</script>"
    files = {"a.css": f"{used}{REST}", "b.css": f".a{{color:red}}{REST}{NOISE}"}
    assert len(REST) < 0.125 * len(files["a.css"])
    text = made(head=head, files=files, promise="words")
    assert ".rest299{" in text
    assert re.findall(r"<link data-used href=([^>]*)>", text) == ["b.css"]


def test_a_style_element_has_no_file_to_wait_in():
    text = made(head=f"<style>.a{{top:0}}{REST}</style><link rel=stylesheet href=noise.css><script>run()</script>",
                promise="words")  # fmt: skip
    assert REST in text
    assert "<link data-used" not in text


def test_scripts_of_other_sites_may_bring_in_anything():
    for source in ("https://elsewhere.example/w.js", "https://www.google.com/recaptcha/api.js"):
        head = f"<link rel=stylesheet href=css/a.css><script async src={source}></script>"
        text = made(head=head, files={"css/a.css": f".a{{top:0}}{REST}"}, promise="words")
        assert "<style>.a{top:0}</style><link data-used href=css/a.css><script>" in text


def test_elements_that_scripts_of_other_sites_insert_count_as_used():
    css = f".a{{top:0}}img,svg{{vertical-align:middle}}[role=button]{{cursor:pointer}}.svg{{left:0}}{REST}"
    own, foreign = "<script>run()</script>", "<script src=https://elsewhere.example/icons.js></script>"
    for script, used in (foreign, "img,svg{vertical-align:middle}[role=button]{cursor:pointer}"), (own, ""):
        head = f"<link rel=stylesheet href=css/a.css>{script}"
        text = made(head=head, files={"css/a.css": css}, promise="words")
        assert f"<style>.a{{top:0}}{used}</style><link data-used href=css/a.css><script>" in text


INERT = "function show(n) { var e = document.getElementById(n); e.style.display = 'none'; e.innerHTML = 'more' }"


def test_rules_go_where_no_script_can_bring_in_a_name():
    body = "<p class=a onclick=\"show('x')\"><a href=javascript:void(0)>text</a>"
    assert live(".a{color:red}.b{top:0}", body, INERT).endswith("<style>.a{color:red}</style>")


def test_rules_for_attributes_that_such_a_script_sets_stay():
    css = ".a{color:red}.b{top:0}[style*='display']{top:1px}a[href='#b']{top:2px}"
    kept = live(css, "<p class=a onclick=\"show('x')\">text<a>b</a>", INERT)
    assert "[style*=" in kept and "[href=" in kept and ".b" not in kept


@pytest.mark.parametrize(
    ("body", "script"),
    [
        ("<p class=a>text", f"{INERT}; e.className = f(x)"),
        ("<p class=a>text", f"{INERT}; e[name](x)"),
        ("<p class=a>text", f"{INERT}; e.innerHTML = x"),
        ("<p class=a>text", f"{INERT}; e.innerHTML = '<b id=' + 1 + '>'"),
        ("<p class=a>text", f"{INERT}; setTimeout(text, 10)"),
        ("<p class=a>text", f"{INERT}; e.style.animation = 'tu' + 'rn 1s'"),
        ("<p class=a>text", f"{INERT}; location = 'javascript:add()'"),
        ("<p class=a onclick='other()'>text", INERT),
        ("<p class=a><a href='javascript:add()'>text</a>", INERT),
        ("<p class=a>text<iframe src=b.html></iframe>", INERT),
        ("<p class=a>text<script src=https://elsewhere.example/w.js></script>", INERT),
        ("<p class=a contenteditable>text", INERT),
    ],
)
def test_rules_wait_where_one_may(body, script):
    assert "<link data-used href=css/a.css>" in live(".a{color:red}.b{top:0}", body, script)


@pytest.mark.parametrize("body", ["<p class=a onwheel='add()'>text", "<p class=a><a href='javascript:add()'>text</a>"])
def test_code_in_other_handlers_and_addresses_is_a_script(body):
    files = {"css/a.css": f".a{{color:red}}{REST}"}
    text = made(body, head="<link rel=stylesheet href=css/a.css>", files=files, promise="words")
    assert "<style>.a{color:red}</style><link data-used href=css/a.css><script>" in text


@pytest.mark.parametrize(
    "script",
    [
        "for (var s, i = 0; i < document.styleSheets.length; i++) { try { (s = document.styleSheets[i]).cssRules }"
        " catch (e) { continue } } s.insertRule('.tip{top:0}', s.cssRules.length)",
        "support.html = !!div.getElementsByTagName('link').length",
        "$(\"head link[rel='stylesheet']\").attr('rel', 'alternate stylesheet').attr('rel', 'stylesheet')",
        "parts.find(\"link[rel='stylesheet']\" + selector)",
    ],
)
def test_a_script_that_reads_no_sheet_keeps_none(script):
    assert "<style>.a{top:0}</style>" in live(".a{top:0}.none{margin:0}", script=script)


@pytest.mark.parametrize(
    "script",
    [
        "for (s of document.styleSheets) if (s.href) s.insertRule('.tip{top:0}', 0)",
        "document.styleSheets[0].cssRules[0].style.top = 0",
        "document.getElementsByTagName('link')[0].remove()",
        "document.styleSheets[0].disabled = true",
        "document['style' + 'Sheets'][0].disabled = true",
        "document[atob('c3R5bGVTaGVldHM=')][0].disabled = true",
        "$(\"link[rel='stylesheet']\").attr('rel', 'alternate')",
        "import './sheets.js'",
    ],
)
def test_a_script_that_reads_a_sheet_keeps_them(script):
    files = {"css/a.css": f".a{{top:0}}{REST}", "sheets.js": "document.styleSheets[0].disabled = true"}
    site = SmallSite({"index.html": f"{HEAD}{LINKS}<script>{script}</script><p class=a>", "noise.css": NOISE, **files})
    done = site.rewrite(steps=STEPS, promise="words")
    assert done.content is None
    assert done.actions[0].reason == "a script of the page looks for style sheets"


def test_what_scripts_may_read_or_use_alone_stays_and_what_waiting_rules_use_waits():
    css = (
        "@keyframes spin{to{top:0}}@keyframes alone{to{top:1px}}@keyframes late{to{top:2px}}:root{--accent:red}"
        "@font-face{font-family:Late;src:url(i.woff)}.a{margin:0}.late .x{animation:late 1s;font:1em Late}"
    )
    text = live(css, script="e.style.animation = 'spin 1s'; e.style.color = getComputedStyle(e).getPropertyValue(name)")
    kept = "@keyframes spin{to{top:0}}@keyframes alone{to{top:1px}}:root{--accent:red}.a{margin:0}"
    assert f"<style>{kept}</style><link data-used" in text


def test_fonts_and_images_stay_while_everything_may_be_loaded():
    css = "@font-face{font-family:Icons;src:url(i.woff)}.a{font-family:Icons;background:url(b.png)}"
    assert live(css).count("url(css/") == 2


@pytest.mark.parametrize("script", ["e = q(\"[href$='css/a.css']\"); e.disabled = true", "load('a.css')"])
def test_a_sheet_whose_name_a_script_writes_out_stays(script):
    text = live(".a{top:0}.none{margin:0}", script=script)
    assert "<link rel=stylesheet href=css/a.css>" in text
    assert "noise.css" not in text


def test_a_sheet_that_stays_may_use_what_others_define():
    css = "@font-face{font-family:Own;src:url(i.woff)}@keyframes turn{to{top:0}}.a{color:red}.none{margin:0}"
    head = f"{LINKS}<link rel=stylesheet href=open.css>"
    files = {"css/a.css": css, "css/i.woff": "x", "open.css": ".a{font-family:Own;animation:turn 1s"}
    text = made(head=head, files=files, promise="words")
    assert "<link rel=stylesheet href=open.css>" in text
    assert "font-family:Own" in text
    assert "@keyframes turn" in text
    assert ".none" not in text


def test_an_import_of_a_missing_sheet_goes():
    css = "@import 'none.css' screen;@import url(b.css);.a{color:red}"
    assert "@import" not in (text := live(css, files={"css/b.css": ".a{margin:0}"}))
    assert ".a{margin:0}\n.a{color:red}" in text
    assert '@import "/none.css"' in live("@import '/none.css';.a{color:red}")


@pytest.mark.parametrize(
    ("body", "is_changed"),
    [
        ("<div contenteditable>text</div>", True),  # ctrl+B
        ("<div contenteditable=false>text</div>", False),
        ("<svg><rect><set attributeName=class to=b begin=1s /></rect></svg>", True),
        ("<svg><rect><set attributeName=x to=1 begin=1s /></rect></svg>", False),
        ("<iframe src=framed.html></iframe>", True),
        ("<object data=drawn.svg></object>", True),
        ("<iframe srcdoc='<script>parent.run()</script>'></iframe>", True),
        ("<iframe src=plain.html></iframe><iframe src=https://elsewhere.example/></iframe>", False),
        ("<iframe></iframe><embed src=none.html>", False),
    ],
)
def test_what_else_changes_a_page_has_rules_wait(body, is_changed):
    files = {
        "css/a.css": f".a{{color:red}}b{{top:0}}{REST}",
        "framed.html": "<script>parent.document.body.className = 'b'</script>",
        "drawn.svg": "<svg xmlns='http://www.w3.org/2000/svg' onload='top.run()'/>",
        "plain.html": "<p>text",
    }
    text = made(f"<p class=a>text{body}", head=LINKS, files=files, promise="words")
    assert ("<link data-used href=css/a.css>" in text) is is_changed
    assert ".a{color:red}" in text


def test_a_sheet_that_a_script_knows_keeps_its_medium():
    script = "<script>document.querySelector('#late').media = 'all'; run()</script>"
    style = "<style id=late media='not all'>.a{top:0}</style>"
    text = made(head=f"{LINKS}{style}{script}", files={"css/a.css": ".a{color:red}"}, promise="words")
    assert "<style id=late media='not all'>.a{top:0}</style>" in text.replace('"', "'")
    link = LINKS.replace("href=css", "id=late media=print href=css")
    text = made(head=f"{link}{script}", files={"css/a.css": ".a{color:red}"}, promise="words")
    assert "<link rel=stylesheet id=late media=print href=css/a.css>" in text


@pytest.mark.parametrize(
    ("find", "is_whole"),
    [("document.getElementById('look')", True), ("look", True), ("document.querySelector('#x')", False)],
)
def test_a_sheet_that_a_script_knows_is_whole(find, is_whole):
    script = f"<script>b.onclick = () => {find}.disabled = run()</script>"
    files = {"css/a.css": f".a{{color:red}}{REST}"}
    head = LINKS.replace("href=css", "id=look href=css") + script
    text = made("<p class=a>text", head=head, files=files, promise="words")
    assert ("data-used" in text) is not is_whole


def test_attributes_of_svg_match_in_any_case():
    css = "[viewbox] *{color:red}svg[viewBox]{top:0}[viewbox] .other{left:0}"
    text = sheet(css, "<svg viewBox='0 0 1 1'><path d='M0 0'/></svg>")
    assert "[viewbox] *{color:red}" in text and "svg[viewBox]{top:0}" in text


def test_sheets_that_a_script_may_know_stay():
    head = (
        LINKS.replace("href=css", "id=theme href=css")
        + "<script>document.getElementById('theme').href = 'b.css'</script>"
    )
    text = made(head=head, files={"css/a.css": ".a{top:0}"}, promise="words")
    assert "<link rel=stylesheet id=theme" in text
    plain = LINKS.replace("href=css", "id=theme href=css") + "<script>run()</script>"
    text = made(head=plain, files={"css/a.css": ".a{top:0}"}, promise="words")
    assert "<style id=theme>.a{top:0}</style>" in text
    assert "<link" not in text


def test_a_sheet_that_a_frame_in_the_page_loads_as_well_stays():
    frame = '<iframe srcdoc="<link rel=stylesheet href=css/a.css>"></iframe>'
    text = made(f"<p class=a>{frame}", head=f"{LINKS}<script>run()</script>", promise="words",
                files={"css/a.css": ".a{top:0}"})  # fmt: skip
    assert "<link rel=stylesheet href=css/a.css><script>" in text
    assert "noise.css" not in text


def test_at_moderate_no_rule_that_is_used_gets_lost():
    """Several passes of the level work on links to style sheets."""
    level = load_levels(None, KNOWN_PASSES)["moderate"]
    head = (
        "<link rel=stylesheet href=noise.css><script>run()</script><link rel=stylesheet href=css/a.css>"
        "<link id=theme rel=stylesheet href=css/b.css><link rel=stylesheet href=css/a.css>"
    )
    files = {"index.html": f"{HEAD}{head}<body><p class=a>text", "noise.css": LONG}
    files |= {"css/a.css": ".a{color:red}.x{margin:0}", "css/b.css": f".a{{font-weight:700}}{LONG}"}
    moderate = [
        step for step in plan_level(level).steps_for(media.HTML) if not getattr(step.pass_, "needs_labels", False)
    ]
    done = SmallSite(files, settings=Settings(crowd_limit=5000)).rewrite("index.html", moderate, "words")
    text = (done.content or b"").decode()
    assert "color:red" in text
    assert "font-weight:700" in text
    assert ".unused7{" not in text
    assert "<link data-used" in text


def test_what_a_sheet_imports_comes_along():
    files = {"css/a.css": "@import 'more/b.css' screen;.a{top:0}", "css/more/b.css": ".a{left:0}.none{top:1px}" + NOISE}
    text = made(head=LINKS, files=files)
    assert "@import" not in text
    assert "@media screen{.a{left:0}}" in text
    assert text.index("left:0") < text.index("top:0")


@pytest.mark.parametrize(
    "head",
    [
        "<script type=module src=lib/module.js></script>",
        "<script type=module src=app.js></script><link rel=modulepreload href=lib/module.js>",
        "<script src=app.js></script><link rel=preload as=script href=lib/deep.js>",
    ],
)
def test_names_in_modules_count_as_used_that_the_scripts_of_a_page_import_or_it_preloads(head):
    css = ".a{color:red}.deep{top:0}.none{margin:0}" + REST
    files = {
        "css/a.css": css,
        "app.js": "run()",
        "lib/module.js": "import './deep.js'",
        "lib/deep.js": "e.className = 'deep'",
    }
    text = made(head=LINKS + head, files=files, promise="words")
    assert ".deep{" in text
    assert ".none{" not in text
