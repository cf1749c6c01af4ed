"""What a script depends on: itself, other scripts, style sheets, addresses of images."""

from __future__ import annotations

import pytest

from adaptc.formats.script.addresses import has_lazy_address
from adaptc.formats.script.facts import script_facts


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("document.currentScript.src", "currentScript"),
        ("document['currentScript']", "currentScript"),
        (r"document.c\u0075rrentScript", "currentScript"),
        ("new URL('a', import.meta.url)", "import.meta"),
        ("import('./a.js')", "imports modules"),
        ("document.getElementsByTagName('script')", "script elements"),
        ("document.getElementsByTagName ( /* all */ `script` )", "script elements"),
        ("document.getElementsByTagName('SCRIPT')", "script elements"),
        ("document.getElementsByTagName('*')", "script elements"),
        ("(function(d,s){d.getElementsByTagName(s)[0]})(document,'script')", "script elements"),
        ("document.querySelector('script[src*=jquery]')", "script elements"),
        ("$('body > script')", "script elements"),
        ("document.scripts[0]", "script elements"),
        ("document.styleSheets[0].cssRules", "style sheets"),
        ("document.querySelectorAll('link[rel=stylesheet]')", "style sheets"),
        ("$('head').find('[rel~=\"stylesheet\"]')", "style sheets"),
        ("__webpack_public_path__ = '/a/'", "public path"),
        ("webpackChunk; r.p = e.src", "public path"),
        ("var s=document.getElementsByTagName('script')[0];s.parentNode.insertBefore(a,s);f(s.src)", "script elements"),
        ("eval(a + '//# sourceURL=' + b)", "sourceURL"),
        ("(function(){}).toString()", "its own text"),
        ("new Error().stack.split('\\n')", "error's stack"),
        ("/@(.*?):/.exec(e.stack)", "error's stack"),
        ("'unfinished // currentScript", "currentScript"),
        ("document['style' + 'Sheets']", "style sheets"),
        ("document['current'.concat('Script')].src", "currentScript"),
        ("document[name]", "computed name"),
        ("'fullscreen'; " + "f();" * 200 + "document[name]", "computed name"),
    ],
)
def test_introspection_reason(text, reason):
    assert reason in script_facts(text).introspection


def test_an_array_of_that_name_is_no_stack_of_an_error():
    assert script_facts("this.stack.push(a); this.stack = this.stack.slice(0, 2)").introspection is None


@pytest.mark.parametrize("text", ["document . write ('x')", "document['writeln']('x')", "d?.write(x)"])
def test_writes_document(text):
    assert script_facts(text).writes_document and script_facts(text).introspection is None


@pytest.mark.parametrize(
    "text",
    [
        "/* document.write('x') */ f()",
        "rewrite(a); overwrite = 2",
        "frame.write()",
        "doc.write('<!doctype html><html><body>'); doc.close()",
        "d.write((document.compatMode === 'CSS1Compat' ? '<!doctype html>' : '') + '<html><body>'); d.close()",
    ],
)
def test_does_not_write_the_document(text):
    assert not script_facts(text).writes_document


@pytest.mark.parametrize(
    "text",
    [
        "// document.currentScript\nf()",
        "/* document.write('x') */ f()",
        "currentScripts = 1; rewrite(a); overwrite = 2",
        "document.createElement('script')",
        "$('.script, #script, script-editor-x')",
        "navigator.serviceWorker.register('sw.js')",
        "new Worker('a.js')",
        "typeof importScripts === 'function'",
        "a.import(b)",
        "document['hidden']",
        "this.document[0].defaultView",
        "f = ['requestFullscreen', 'webkitRequestFullscreen'].find((name) => document[name])",
        "k = 'webkitHidden'; document.addEventListener('webkitvisibilitychange', () => { seen = !document[k] })",
        "x.toString()",
        "fragment.getElementsByTagName('*').length",
        "__webpack_require__.p = '/static/'; x = __webpack_require__.p + 'a.js'",
        "var g=document.createElement('script'),s=document.getElementsByTagName('script')[0];g.src='/x';"
        "s.parentNode.insertBefore(g,s)",
        "!function(d,s,id){var js,fjs=d.getElementsByTagName(s)[0];js=d.createElement(s);js.src='//x/y';"
        "fjs.parentNode.insertBefore(js,fjs)}(document,'script','fb')",
        "frame.contentDocument.write(); frame.contentDocument.close()",
        "",
    ],
)
def test_does_not_introspect(text):
    assert script_facts(text).introspection is None


@pytest.mark.parametrize(
    "text",
    [
        "img.src = img.src.replace('small', 'large')",
        "a['src'] = b",
        "document.images[0].srcset = ''",
        "image.src = other.dataset.src",
        "image.src = image.dataset.src + '?2'",
        "image.src = image.dataset.src",
        "entries.forEach(one => { one.srcset = one.dataset.srcset; one.removeAttribute('data-srcset') })",
        "$(this).attr('src', $(this).data('original'))",
        "$('.thumb').attr({src: this.href})",
        "unfinished('.album', i.src = large",
        "image.setAttribute('src', image.getAttribute('alt'))",
        "new Image().src = a.src = b",
        "wrap(new Image()).src = b",
        "function a(s) { var s = d.createElement('script'); s = i; s.src = u }",
        "function a(s) { if (x) { var s = d.createElement('script') } s.src = u }",
        "function a(s) { x || (s = d.createElement('script')), s.src = u }",
        "function a(s) { if (x) s = d.createElement('script'); s.src = u }",
    ],
)
def test_changes_images(text):
    assert script_facts(text).changes_images


@pytest.mark.parametrize(
    "text",
    [
        "if (img.src === 'a.png') f()",
        "new Image().src = 'count.gif?n=' + n",
        "(new Image).src=u",
        "new Image(1, 1).src = u;",
        "i = new Image; i.src = '/ping'",
        "f(s); function a(d, s) { var s = d.createElement('script'), t = 1; s.async = 1; s.src = u } s = g(s)",
        "function a(d, s) { if (x) return; s = d.createElement(s); s.id = 1; s.src = u } s = g(s)",
        "(function (i, s, o, g) { a = s.createElement(o); a.src = g })(window, document, 'script', u)",
        "$('<script>').prop({charset: 'utf-8', src: s.url})",
        "r=S('<script>').attr(n.scriptAttrs||{}).prop({charset:n.scriptCharset,src:n.url}).on('load error',f)",
        "frame.src = 'javascript:'",
        "var t = make('iframe'), n = 'script'; t.src = String('java' + n + ':')",
    ],
)
def test_does_not_change_images(text):
    assert not script_facts(text).changes_images


def test_an_image_has_a_lazy_address_in_its_data_attributes():
    assert has_lazy_address({"src": "a.gif", "data-src": "b.jpg"})
    assert not has_lazy_address({"src": "a.gif", "data-index": "3", "data-open": None})


@pytest.mark.parametrize(
    "text",
    [
        "img.src = img.src.replace('small', 'large')",
        "$('img').attr('src')",
        "a['src'] = b",
        "$(x).prop({ src: y })",
        "document.querySelector('img[src=\"a.png\"]')",
        "img.dataset.src; img.setAttribute('srcset', b)",
        "function f(s) { s.src = 1 } var s = document.createElement('script')",
        "s = document.createElement('script'); s = byId('x'); s.src = 1",
        "image => image.src",
    ],
)
def test_touches_addresses(text):
    assert script_facts(text).touches_addresses


@pytest.mark.parametrize(
    "text",
    [
        "// img.src = 1\nf()",
        "location.href = 'a.html'; window.location.href = b",
        "var s = document.createElement('script'); s.src = 'a.js'; head.appendChild(s)",
        "i = new Image; i.src = '/ping'",
        "link.getAttribute('href')",
        "document.getElementById('theme').href = 'dark.css'",
        "document.styleSheets[0].disabled = true",
        "getComputedStyle(a).backgroundImage",
        "x = '<a href=\"#\">top</a>'",
        "srcs = resource; a.srcIndex = 1",
        "element.setAttribute('style', 'color: red')",
    ],
)
def test_does_not_touch_addresses(text):
    assert not script_facts(text).touches_addresses
