"""The text of a page as those read it who run no scripts."""

from __future__ import annotations

import pytest

from adaptc.formats.html.static_text import insert_literals, leave_out_waiting_values, static_text


@pytest.mark.parametrize(
    ("script", "literal"),
    [
        ("document.write('<a href=\"x\">Home</a>')", '<a href="x">Home</a>'),
        ("document.write('<p>a' + \"b</p>\");\ndocument.writeln('<p>c', '</p>');", "<p>ab</p><p>c</p>"),
        ("/* menu */ var a = 1; document.write(`<p>x\\u00e9</p>`);", "<p>x\u00e9</p>"),
        ("document.write('<p>' + name + '</p>')", None),
        ("if (a) document.write('<p>x</p>')", None),
        ("function f() { document.write('<p>x</p>') } f()", "<p>x</p>"),
        ("function f() { document.write('<p>x</p>') } a.onclick = f", None),
        ("document.write('<p>a</p>'); if (b) { document.write('<p>b</p>') }", None),
        ("document.write('<p>x</p>'.toUpperCase())", "<P>X</P>"),
        ("document.write(`<p>${x}</p>`)", None),
        ("const x = 'a', y = 2007; document.write(`<p>${x} ${y + 1}</p>`)", "<p>a 2008</p>"),
        ("document.write('<p>1999-' + new Date().getFullYear() + ', by us</p>')", "<p>1999  by us</p>"),
        ("document.write('<br>')", None),
    ],
)
def test_literals_that_a_script_writes_at_once(script: str, literal: str | None) -> None:
    page = f"<body><script>{script}</script>"
    assert insert_literals(page, lambda each: each.text) == page + (literal or "")


def test_a_header_that_a_script_writes_is_in_its_place() -> None:
    sources = {"header.js": "document.write('<form action=/s><input name=q></form><a href=a>A</a>')"}
    page = "<body><script src=header.js></script><h1>T</h1>"
    written = insert_literals(page, lambda script: sources.get(script.attr("src") or "", script.text))
    assert written == page.replace("<h1>", "<form action=/s><input name=q></form><a href=a>A</a><h1>")
    assert static_text(page) == page  # nobody knows the script


@pytest.mark.parametrize(
    "page",
    [
        "<head><script>document.write('<p>x</p>')</script></head><body>y",
        "<body><script>document.write('<p>x</p><scr' + 'ipt src=a.js></scr' + 'ipt>')</script>y",
        "<body><script>document.write('<p>x y</p>')</script><p>x y</p>",  # what a browser made of it
    ],
)
def test_other_literals_are_not_inserted(page: str) -> None:
    assert static_text(page) == page


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("<b id=n>0</b>", "<b id=n>&hellip;</b>"),
        ("<b id=n>\u20ac 0.00</b>", "<b id=n>&hellip;</b>"),
        ("<b id=n> 0 toman</b>", "<b id=n>&hellip;</b>"),
        ("<div id=n>Loading donors\u2026</div>", "<div id=n></div>"),
        ("<div id=n>Fetching data...</div>", "<div id=n></div>"),
        ("<b id=n>-</b>", "<b id=n></b>"),
        ("<b id=n>7</b>", "<b id=n>7</b>"),
        ("<b id=n>100</b>", "<b id=n>100</b>"),
        ("<b id=other>0</b>", "<b id=other>0</b>"),
        ("<b id=n>0 <i>x</i></b>", "<b id=n>0 <i>x</i></b>"),
    ],
)
def test_values_that_a_script_fetches_are_not_stated(value: str, written: str) -> None:
    page = "<body><p>Raised: {}</p><script>x</script>"
    assert leave_out_waiting_values(page.format(value), {"n"}) == page.format(written)


@pytest.mark.parametrize(
    ("page", "written"),
    [
        ("<div id=m></div><script>document.getElementById('m').innerHTML = '<a href=x>X</a>'</script>",
         "<div id=m><a href=x>X</a></div>"),
        ("<p id=m>old</p><script>var m = document.querySelector('#m'); m.textContent = 'a < b'</script>",
         "<p id=m>a &lt; b</p>"),
        ("<x-y></x-y><p>a</p><x-y></x-y><script type=module>customElements.define('x-y', class extends HTMLElement {"
         "connectedCallback() { this.innerHTML = '<a href=x>X</a>' } })</script>",
         "<x-y><a href=x>X</a></x-y><p>a</p><x-y><a href=x>X</a></x-y>"),
        ("<p>a</p><script>document.querySelector('p').insertAdjacentHTML('afterend', '<a href=x>X</a>')</script>",
         "<p>a</p><a href=x>X</a>"),
        ("<p>a</p><script>document.querySelector('p').insertAdjacentHTML('beforeend', '<b>b</b>')</script>", ""),
        (f"<p>a</p><script>$('p').append('{'long ' * 15}').append('<a href=x>X</a>')</script>",
         f"<p>a{'long ' * 15}<a href=x>X</a></p>"),
        ("<p>a</p><script>$('p').prepend('<a href=x>X</a>').prepend('<a href=y>Y</a>')</script>",
         "<p><a href=y>Y</a><a href=x>X</a>a</p>"),
        ("<p>a</p><script type=module>document.write('X')</script>", ""),
        ("<p>a</p><script>$('p').append('<iframe src=x></iframe>')</script>", ""),
        ("<p id=m>Open <b>now</b></p><script>document.getElementById('m').innerHTML = 'x'</script>", ""),
        ("<script>var who = 'Ann'</script><script>document.write('<p>' + who)</script>", "</script><p>Ann"),
    ],
)  # fmt: skip
def test_what_scripts_put_into_elements_at_once(page: str, written: str) -> None:
    static = insert_literals(f"<body>{page}", lambda script: script.text)
    assert written in static
    assert bool(written) == (static != f"<body>{page}")


@pytest.mark.parametrize(
    ("script", "root"),
    [
        ("document.documentElement.className = localStorage.theme || 'light'", '<html class="light">'),
        ("document.body.parentNode; var d = matchMedia('(prefers-color-scheme: dark)').matches;"
         "document.documentElement.dataset.theme = d ? 'dark' : 'light'",
         '<html data-theme="light">'),
        ("document.documentElement.classList.add('js')", "<html>"),  # nobody runs scripts here
        ("document.documentElement.setAttribute('data-bs-theme', get())", "<html>"),
    ],
)  # fmt: skip
def test_the_theme_of_a_first_visit(script: str, root: str) -> None:
    static = static_text(f"<html><head><script>{script}</script><body><p>x")
    assert static.partition("<head")[0].replace("=light", '="light"').replace('""', '"') == root


@pytest.mark.parametrize(
    ("value", "script", "written"),
    [
        ("<i class=p>$0.00</i>", "fetch(u).then(d => { document.querySelector('.p').textContent = d.p })", "&hellip;"),
        ("<i class=p>0%</i>", "$('.p').text(d.p)", "&hellip;"),
        ("<i class=p>--:--</i>", "var e = document.getElementsByClassName('p')[0]; e.innerHTML = t", "&hellip;"),
        ("<i data-n=a>00</i>", "document.querySelectorAll('[data-n]').forEach(e => e.textContent = d[e.dataset.n])",
         "&hellip;"),
        ("<i id=wind>-- km/h</i>", "wind.textContent = d.w", "&hellip;"),
        ("<i x-text=seats>0</i>", "x()", "&hellip;"),
        ("<i class=p>0</i>", "document.querySelector('.p').remove()", "0"),
        ("<i class=p>12</i>", "document.querySelector('.p').textContent = 13", "12"),
        ("<i class=p>0</i>", "$('p:visible(').text(x)", "0"),
    ],
)  # fmt: skip
def test_values_are_found_by_the_selectors_of_scripts(value: str, script: str, written: str) -> None:
    static = leave_out_waiting_values(f"<body>{value}<script>{script}</script>", ())
    assert static.partition(">")[2].partition(">")[2].partition("</i>")[0] == written


def test_what_is_shown_while_scripts_load_is_left_out() -> None:
    page = "<body><div id=preloader><p>Loading site</p></div><p>Words</p><script>x</script>"
    assert static_text(page) == "<body><p>Words</p><script>x</script>"


def test_what_is_there_for_those_without_scripts_goes_where_a_script_wrote_it() -> None:
    page = "<body><script>document.write('<b>a@b</b>')</script>\n<noscript>a at b</noscript><noscript>more</noscript>"
    assert static_text(page) == page.replace("</script>\n<noscript>a at b</noscript>", "</script><b>a@b</b>\n")


@pytest.mark.parametrize("number", ["12,500", "4.5k", "98%", "1250"])
def test_numbers_with_signs_are_counted_up(number: str) -> None:
    page = f"<b data-count='{number}'>0</b><script>x</script>"
    assert static_text(page) == page.replace(">0<", f">{number}<")


def test_what_a_script_writes_depends_on_the_scripts_before_it_in_its_own_page() -> None:
    for number in ("one", "two", "one"):  # the scripts of the last page are those of the first, and do not run again
        page = f"<body><script>var n = '{number}'</script><script>document.write('<b>' + n + '</b>')</script>"
        assert f"<b>{number}</b>" in static_text(page)
    assert (
        "<b>" not in static_text("<body><script>document.write('<b>' + n + '</b>')</script>").partition("</script>")[2]
    )
