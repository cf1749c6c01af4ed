"""References of style sheets, compared with what tinycss2's parser sees."""

import pytest
import tinycss2
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adaptc.core.model import Role
from adaptc.formats.css.references import css_references, quote_url, rewrite_urls


def roles_and_urls(text, **options):
    return [(reference.role, reference.url) for reference in css_references(text, **options)]


def urls(text, **options):
    return [reference.url for reference in css_references(text, **options)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a{b:url(x.png)}", ["x.png"]),
        ("a{b:url( x.png\n)}", ["x.png"]),
        ("a{b:url( 'x y' )}", ["x y"]),
        ('a{b:URL("x")}', ["x"]),
        (r"a{b:\75rl(x)}", ["x"]),
        (r"a{b:\75 rl(x)}", ["x"]),
        (r"a{b:u\72l(x)}", ["x"]),
        (r"a{b:u\000052 l(x)}", ["x"]),
        (r"a{b:url(a\)b\20 c)}", ["a)b c"]),
        ("a{b:url('a\\\nb')}", ["ab"]),
        ("a{b:url(x", ["x"]),
        ("a{b:url('x", ["x"]),
        ("a{b:url()}", [""]),
        ("a{b:url(/*x*/)}", ["/*x*/"]),
        ("a{b:url(/**/'x')}", []),
        ("a{b:url(a b)c:url(d)}", ["d"]),
        ("a{b:url(a'b)c:url(d)}", ["d"]),
        ("a{b:'x\ny:url(d)}", ["d"]),
        ("a{b:'x\\\ny:url(d)}'", []),
        ("/* url(x) */a{b:url(y)/*url(z)", ["y"]),
        ("a{b:'url(x)'}", []),
        ("a{b:xurl(x) -url(y) #url(z) 5url(q) @url(r)}", []),
        (r"a{b:#\75rl(x) 5\75rl(y) \66 url(z)}", []),
        ("a{b:5%url(x)}<!--url(y)-->url(z)", ["x", "y", "z"]),
        ("a{b:src('x') src( var(--y))}", ["x"]),
        ("a{b:url('x' crossorigin(anonymous))}", ["x"]),
        ("a{b:image-set('x' 1x, url(y) 2x type('image/png'), 'z' 3x);c:'w'}", ["x", "y", "z"]),
        ("a{b:-WEBKIT-image-set('x' 1x)}", ["x"]),
        ("a{--x:url(x)}", ["x"]),
        ("a{& b{c:url(x)}@media print{d:url(y)}}", ["x", "y"]),
        ("a{cursor:url(x.cur) 1 2,auto}", ["x.cur"]),
        ("@namespace svg url(x);@namespace 'y';a{b:url(z)}", ["z"]),
        ("@supports (a:url(x)){a{b:url(z)}}", ["z"]),
        ("@document url(x){a{b:url(z)}}", ["z"]),
        ("a{b:c}@import 'x';", []),
        ("@media print{}@import 'x';", []),
        ("@media print{@import 'x';}", []),
        ("@import 'x'{}", []),
        ("@import x;", []),
        ("@import;", []),
        ("a{b:url(\0x)}", ["\ufffdx"]),
        (r"a{b:url(\0 \d800 \110000 )}", ["\ufffd\ufffd\ufffd"]),
        ("a{unicode-range:u+26,U+0-7F;b:url(x)}", ["x"]),
    ],
)
def test_urls(text, expected):
    assert urls(text) == expected


@pytest.mark.parametrize(
    "statement",
    [
        "@import 'x'",
        '@import"x"',
        "@import url(x)",
        "@import url( 'x' )",
        "@import src('x')",
        "@IMPORT/**/'x'/**/screen",
        r"@\69mport 'x'",
        r"@i\6d port 'x'",
        "@import 'x' layer(a.b) supports(b:url(y)) print",
    ],
)
def test_spellings_of_import(statement):
    for before in ("", "@charset 'y';", "/* @import 'z'; */ <!-- ", "@layer a, b;", "@unknown foo;"):
        assert roles_and_urls(f"{before}{statement};a{{}}") == [(Role.IMPORT, "x")]


def test_font_role():
    text = "@font-face{src:local('q'),url(x) format('woff'),url('y')}a{b:url(z)}"
    assert roles_and_urls(text) == [(Role.FONT, "x"), (Role.FONT, "y"), (Role.CSS_URL, "z")]


def test_declarations_have_no_at_rules():
    assert roles_and_urls("background:url(x);@import 'y'", declarations=True) == [(Role.CSS_URL, "x")]


def test_span_line_column_and_form():
    text = "a{\n  b:url( 'x' ),\n  image-set('y' 1x)}"
    first, second = css_references(text)
    assert (text[first.start : first.end], first.line, first.column, first.form) == (
        "url( 'x' )",
        2,
        5,
        "url",
    )
    assert (text[second.start : second.end], second.line, second.column, second.form) == (
        "'y'",
        3,
        13,
        "string",
    )


def test_rewrite_keeps_every_other_byte():
    text = "@import 'a' print;\r\na{b:url( 'a' ) , src('a' x());c:'a';d:url(b)}"
    new = rewrite_urls(text, lambda each: "n" if each.url == "a" else None)
    assert new == '@import "n" print;\r\na{b:url(n) , src("n" x());c:\'a\';d:url(b)}'


@pytest.mark.parametrize(
    ("url", "expected"),
    [("a.png", "url(a.png)"), ("a b", 'url("a b")'), ('a"', "url('a\"')"), ("</style", 'url("\\3c /style")')],
)
def test_quote_url(url, expected):
    assert quote_url(url) == expected


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_quoted_urls_read_back(url):
    assert urls(f"a{{b:{quote_url(url)}}}") == [url.replace("\0", "\ufffd")]


@pytest.mark.parametrize("opener", ["(", "{", "[", "url(", "image-set(", "@font-face{", "\\", "/*", "'\n", "@a "])
def test_long_runs_of_openers(opener):
    css_references("@font-face{" + opener * (100_000 // len(opener)) + "url(")


PIECES = [
    "url(", "URL(", "\\75 rl(", "u\\72l(", "src(", "image-set(", "-webkit-image-set(", "\"", "'",
    "/*", "*/", "@import ", "@\\69mport", "@font-face", "@media", "@namespace ", "@layer a", ";",
    "{", "}", "(", ")", "[", "]", "\\\\", "\n", " ", "<!--", "-->", "a", "\u00e9", "#", "@", "-",
    "5", "a.png", "1e", "+", ".", "%", "\\\"", "\\66 ", "/", "<", "!", "x:", "\0", "\r\n", "\f",
    "\t", "\1", "--",
]  # fmt: skip


@pytest.mark.parametrize("name", ['#\\"url(', "#\\66 url(", '#a\\"url(', "#url(", "#u\\72l("])
def test_a_hash_is_no_function(name):
    assert urls(f"a{{b:{name}a.png);c:url(b.png)}}") == ["b.png"]
    assert urls(f"a:{name.replace('#', '@')}a.png);c:url(b.png)", declarations=True) == ["b.png"]


def test_a_bad_url_ends_after_an_escaped_backslash():
    assert urls(r"a{b:url(( \\)url(a.png)}") == ["a.png"]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.booleans())
def test_same_references_as_tinycss2(text, declarations):
    assume("\\\\)" not in text)  # tinycss2 takes an escaped backslash for the escape of the end of a bad URL
    expected = by_tinycss2(text, declarations)
    references = css_references(text, declarations=declarations)
    assert [(reference.role.name, reference.url) for reference in references] == expected
    new = rewrite_urls(text, lambda _: 'n"n', declarations=declarations)
    assert urls(new, declarations=declarations) == ['n"n'] * len(expected)


def by_tinycss2(text, declarations):
    nodes = tinycss2.parse_component_value_list(text)
    out, start = ([], 0) if declarations else head_by_tinycss2(nodes)
    walk(nodes[start:], out, "CSS_URL", False, declarations)
    return out


def head_by_tinycss2(nodes):
    out, index, start = [], 0, 0
    while index < len(nodes):
        node = nodes[index]
        if node.type in ("whitespace", "comment") or node in ("<!--", "-->"):
            index += 1
            continue
        end = prelude_end(nodes, index, closing=False)
        is_block = end < len(nodes) and nodes[end].type == "{} block"
        if node.type != "at-keyword" or node.lower_value in ("media", "font-face", "namespace"):
            break
        if node.lower_value == "layer" and is_block:
            break
        values = significant(nodes[index + 1 : end])
        if node.lower_value == "import" and not is_block and values and url_of(values[0]) is not None:
            out.append(("IMPORT", url_of(values[0])))
            start = end + 1
        index = end + 1
    return out, start


def prelude_end(nodes, index, closing=True):
    for end in range(index + 1, len(nodes)):
        node = nodes[end]
        if node.type == "{} block" or node == ";" or (closing and node.type == "error" and node.kind in ")]}"):
            return end
    return len(nodes)


def significant(nodes):
    return [node for node in nodes if node.type not in ("whitespace", "comment")]


def url_of(node):
    if node.type in ("string", "url"):
        return node.value
    if node.type == "function" and node.lower_name in ("url", "src"):
        arguments = significant(node.arguments)
        return arguments[0].value if arguments and arguments[0].type == "string" else None
    return None


def walk(nodes, out, role, in_image_set, declarations):
    index = 0
    while index < len(nodes):
        node = nodes[index]
        if node.type == "at-keyword" and not declarations:
            index = prelude_end(nodes, index)
            if index < len(nodes) and nodes[index].type == "{} block":
                inner = "FONT" if node.lower_value == "font-face" else role
                walk(nodes[index].content, out, inner, False, declarations)
        elif node.type == "url" or (node.type == "string" and in_image_set):
            out.append((role, node.value))
        elif node.type == "function":
            walk_function(node, out, role, declarations)
        elif node.type.endswith(" block"):
            walk(node.content, out, role, False, declarations)
        index += 1


def walk_function(node, out, role, declarations):
    arguments = node.arguments
    if url_of(node) is not None:
        out.append((role, url_of(node)))
        arguments = arguments[[each.type for each in arguments].index("string") + 1 :]
    walk(arguments, out, role, node.lower_name in ("image-set", "-webkit-image-set"), declarations)
