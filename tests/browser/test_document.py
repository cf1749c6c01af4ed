"""The markup of a page as its scripts left it: it parses back to what a visitor sees."""

from __future__ import annotations

import pytest

from tests.sites.shown import visit, visits

from adaptc.browser.tab import Tab, script

pytestmark = pytest.mark.chromium

HEAD = "<!DOCTYPE html>\n<html><head><title>T</title></head><body>"


async def document(tab: Tab) -> str | None:
    markup = await tab.run(script("document"))
    assert markup is None or isinstance(markup, str)
    return markup


def after(program: str, body: str, code: str = "0") -> str:
    """The body of a page after its script."""
    page = f"<!doctype html><title>T</title><body>{body}<script>{code}</script>"
    markup = visit(program, page, document)
    assert markup is not None
    start, _, rest = markup.partition("<body>")
    assert start + "<body>" == HEAD, markup
    return rest.removesuffix("</body></html>")


def test_a_page_without_scripts_has_none(chromium: str) -> None:
    data, handler = visits(chromium, ("<p>a<script type=application/json>1</script>", "<p onclick=a()>a"), document)
    assert data is None
    assert handler is not None


def test_what_scripts_write_is_there_and_scripts_are_not(chromium: str) -> None:
    data = '<script type="application/ld+json">{"a":"<b>"}</script>'
    body = f"<main id=m></main><noscript>No script</noscript><canvas>c</canvas><!--c-->{data}"
    svg = '<svg viewBox="0 0 1 1"><linearGradient/></svg>'
    code = f"m.innerHTML=`<h1 title='a&quot;&amp;b'>A &lt;b> \\u00a0c</h1><br>{svg}`"
    assert after(chromium, body, code) == (
        '<main id="m"><h1 title="a&quot;&amp;b">A &lt;b&gt; &nbsp;c</h1><br>'
        '<svg viewBox="0 0 1 1"><linearGradient></linearGradient></svg></main>' + data
    )


def test_what_markup_cannot_hold_is_left_out(chromium: str) -> None:
    assert after(chromium, "<p id=p title=x></p>", "p.textContent=p.title='a\\0b'") == '<p id="p" title="ab">ab</p>'


def test_forms_are_as_scripts_left_them(chromium: str) -> None:
    body = (
        "<input id=a><input id=b type=checkbox checked><input id=c type=radio><input id=p type=password>"
        "<select><option>1<option id=o>2</select><select><option>3</select><textarea id=t>\n\nx</textarea>"
    )
    code = "a.value='A';b.checked=false;c.checked=true;o.selected=true;t.value='\\n<y>';p.value='secret'"
    assert after(chromium, body, code) == (
        '<input id="a" value="A"><input id="b" type="checkbox"><input id="c" type="radio" checked="">'
        '<input id="p" type="password"><select><option>1</option><option id="o" selected="">2</option></select>'
        '<select><option>3</option></select><textarea id="t">\n\n&lt;y&gt;</textarea>'
    )


def test_shadow_roots_become_declarative(chromium: str) -> None:
    code = (
        "const s=new CSSStyleSheet();s.replaceSync('p{color:red}');const r=h.attachShadow({mode:'open'});"
        "r.adoptedStyleSheets=[s];r.innerHTML='<p>in<slot></slot>'"
    )
    assert after(chromium, "<div id=h>out</div><template><i>t</i></template>", code) == (
        '<div id="h"><template shadowrootmode="open"><p>in<slot></slot></p><style>p { color: red; }</style></template>'
        "out</div><template><i>t</i></template>"
    )


def test_rules_that_scripts_add_are_there(chromium: str) -> None:
    code = "s.sheet.insertRule('p{color:red}');t.sheet.disabled=true"
    body = after(chromium, "<style id=s></style><style id=t>b{}</style><style>/**/i{top:0}</style>", code)
    assert body == '<style id="s">p { color: red; }</style><style>/**/i{top:0}</style>'


def test_modal_dialogs_are_closed(chromium: str) -> None:
    body = "<dialog id=d>Modal</dialog><dialog open>Open</dialog>"
    assert after(chromium, body, "d.showModal()") == '<dialog id="d">Modal</dialog><dialog open="">Open</dialog>'


def test_what_no_parser_nests_stands_where_one_puts_it(chromium: str) -> None:
    code = "const d=document.createElement('div');d.textContent='block';p.append('a',d,'b')"
    assert after(chromium, "<p id=p></p>", code) == '<p id="p">a</p><div>block</div>b<p></p>'


def test_the_encoding_is_declared_first(chromium: str) -> None:
    page = "<!doctype html><title>T</title><style>p{top:0}</style><meta charset=utf-8><script>0</script>"
    markup = visit(chromium, page, document)
    assert markup is not None and '<head><meta charset="utf-8"><title>' in markup
