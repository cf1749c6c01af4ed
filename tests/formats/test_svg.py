"""SVG: what cleaning removes, what it refuses, and which references are found."""

from __future__ import annotations

import pytest

from adaptc.core.model import Role
from adaptc.formats.svg import clean_svg, svg_references
from adaptc.formats.svg.clean import is_same_path, shorten_path

HEAD = b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">'
TEMPLATE = b"<?xml version='1.0' encoding='UTF-8'?>\n" + HEAD + b"\n %s\n</svg>\n"


def cleaned(inside: bytes) -> bytes:
    result = clean_svg(TEMPLATE % inside, "a.svg")
    assert result.content is not None, result.reason
    return result.content


def findings(content: bytes) -> list[str]:
    result = clean_svg(content, "a.svg")
    assert result.content is None
    return [diagnostic.id for diagnostic in result.diagnostics]


def test_what_draws_nothing_goes() -> None:
    content = (
        b'<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/'
        b'DTD/svg11.dtd">\n<!-- Inkscape -->\n<svg xmlns="http://www.w3.org/2000/svg" '
        b'xmlns:sodipodi="http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd" sodipodi:docname="x">\n'
        b"<metadata>me</metadata><sodipodi:namedview/>\n  <!-- c --><g id='a'>\n<rect/> </g>\n</svg>\n"
    )
    result = clean_svg(content, "a.svg")
    assert result.content == b'<svg xmlns="http://www.w3.org/2000/svg"><g id="a"><rect/></g></svg>'
    assert result.reason == f"{len(content) - 67:,} bytes saved, drawing unchanged"


@pytest.mark.parametrize(
    "inside",
    [
        '<title> a  b </title><g id="x" class="y"><path d="M0 0h9"/></g>',
        '<text xml:space="preserve"> a <tspan> b </tspan> <!-- c --> d</text>',
        "<style>/* c */ .a .b { fill : red }</style>",
        "<style><![CDATA[ .a > .b{fill:red} ]]></style>",
        '<use xlink:href="#x" x="1.50"/>',
        '<g/><defs id="d"/><rect display="none" fill="#000000"/>',
        '<desc aria-label="&quot;&lt;&amp;">é</desc>',
        "<g>stray text</g>",
    ],
)
def test_everything_else_stays(inside: str) -> None:
    assert inside in cleaned(inside.encode()).decode()


def test_unused_namespaces_go_and_used_ones_stay() -> None:
    assert b"xlink" not in cleaned(b"<rect/>")
    assert b'xlink:href="#a"' in cleaned(b'<use xlink:href="#a"/>')


def test_a_drawing_without_anything_to_save_is_kept() -> None:
    result = clean_svg(b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9"/></svg>', "a.svg")
    assert (result.content, result.reason, result.diagnostics) == (None, "already smallest", ())


@pytest.mark.parametrize(
    "doctype",
    [
        b'<!DOCTYPE svg [<!ENTITY x "y">]>',
        b'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        b'<!DOCTYPE svg [<!ENTITY % p SYSTEM "http://site.invalid/p">%p;]>',
        b'<!DOCTYPE svg [<!ENTITY a "&b;&b;"><!ENTITY b "&c;&c;"><!ENTITY c "boom">]>',
        b'<!DOCTYPE svg [<!ATTLIST rect fill CDATA "red">]>',
        b'<!DOCTYPE svg SYSTEM "http://site.invalid/own.dtd">',
    ],
)
def test_entities_and_dtds_are_refused_and_not_resolved(doctype: bytes) -> None:
    content = doctype + HEAD + b"<text>&x;</text></svg>" if b"x " in doctype else doctype + HEAD + b"</svg>"
    assert findings(content) == ["svg-entity"]
    assert all("root:" not in reference.url for reference in svg_references(content))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<svg",
        b"text",
        HEAD,
        HEAD + b"<g></svg>",
        HEAD + b"&nbsp;</svg>",
        HEAD + b"<g>" * 5000 + b"</g>" * 5000,
    ],
)
def test_what_is_not_well_formed_is_left(content: bytes) -> None:
    assert findings(content) == ["svg-malformed"]


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        (b"<script>1</script>", "it contains a script"),
        (b'<rect onclick="x()"/>', "it contains a script"),
        (b"<foreignObject/>", "it contains foreign content"),
        (b'<rect><animate attributeName="x" to="9"/></rect>', "it is animated"),
        (b'<p xmlns="http://www.w3.org/1999/xhtml"/>', "it contains HTML"),
        (b"<style>g:nth-child(2){fill:red}</style>", "its style depends on more than ids and classes"),
        (b"<style>[d]{fill:red}</style>", "its style depends on more than ids and classes"),
        (b"<?php x ?>", "it contains a processing instruction"),
    ],
)
def test_what_could_see_the_difference_is_left(inside: bytes, reason: str) -> None:
    result = clean_svg(TEMPLATE % inside, "a.svg")
    assert result.content is None
    assert [str(diagnostic) for diagnostic in result.diagnostics] == [
        f"a.svg: note: is copied as it is: {reason} [svg-unchanged]"
    ]


def test_a_style_sheet_another_root_and_another_encoding_are_left() -> None:
    assert findings(b'<?xml-stylesheet href="a.css"?>' + HEAD + b"</svg>") == ["svg-unchanged"]
    assert findings(b"<html/>") == ["svg-unchanged"]
    assert findings(b'<?xml version="1.0" encoding="ISO-8859-1"?>' + HEAD + b"</svg>") == ["svg-unchanged"]
    assert findings(('<?xml version="1.0" encoding="UTF-16"?>' + HEAD.decode() + "</svg>").encode("utf-16")) == [
        "svg-unchanged"
    ]


@pytest.mark.parametrize(
    ("data", "shorter"),
    [
        ("M 0.50,-0.50 L 10.0 +2 L 3,4", "M.5-.5 10 2 3 4"),
        ("m1 1 m2 2 l3 3 l.5 .5 z", "M1 1M3 3 6 6l.5.5z"),
        ("M0 0 C 1 2 3 4 5 6 C 1 2 3 4 5 6 Z", "M0 0C1 2 3 4 5 6 1 2 3 4 5 6z"),
        ("M0 0C0 1 2 3 4 4C6 5 8 9 9 9", "M0 0C0 1 2 3 4 4S8 9 9 9"),
        ("M0 0Q1 1 2 2Q3 3 8 2L8 9L1 9", "M0 0Q1 1 2 2T8 2V9H1"),
        ("M100.5 100.5L101 101L100 100.5", "M100.5 100.5l.5.5-1-.5"),
        ("M 1e2 1E-3 H 00.10", "M100 .001H.1"),
        ("M 0 0 A 1 1 0 01 9 9", "M0 0A1 1 0 019 9"),
        ("M0 0,L 3 4,", "M0 0,L 3 4,"),
        ("M 0 0 L 1,,2", "M 0 0 L 1,,2"),
        ("M 0 0 H 1e99", "M 0 0 H 1e99"),
        # In single precision the sum of relative coordinates is another point
        ("M1000000.1 0L1000000.4 1", "M1000000.1 0 1000000.4 1"),
        ("M 0 0 L 1 . 5", "M 0 0 L 1 . 5"),  # an error: browsers draw up to it
        ("M 0 0 L 1 2 3", "M 0 0 L 1 2 3"),
        ("L 0 0", "L 0 0"),
        ("", ""),
    ],
)
def test_path_data_reaches_the_same_points(data: str, shorter: str) -> None:
    assert shorten_path(data) == shorter


@pytest.mark.parametrize(
    ("data", "shift", "shorter"),
    [
        ("M0 0L1.23456 2.34567L9 9", 0.0005, "M0 0 1.235 2.346 9 9"),
        ("M0 0L1.23456 2.34567L9 9", 0.05, "M0 0 1.2 2.3 9 9"),
        # Errors do not add up: after a hundred steps of a third the end is where it was
        ("M0 0" + "h.3333" * 100, 0.05, None),
        # Half a circle: with one decimal its centre would be far off
        ("M0 0A4.56789 4.56789 0 1 1 9.13578 0", 0.05, "M0 0A4.56789 4.56789 0 119.13578 0"),
    ],
)
def test_points_move_by_no_more_than_was_allowed(data: str, shift: float, shorter: str | None) -> None:
    result = shorten_path(data, shift)
    assert len(result) < len(data) and is_same_path(data, result, shift)
    assert shorter is None or result == shorter


@pytest.mark.parametrize(
    "other", ["M0 0L4 4.2", "M0 0L4 4L4 4", "M0 0M4 4", "M0 0L4", "M0 0C0 0 4 4 4 4", "M0 0A9 9 0 0 1 4 4", ""]
)
def test_a_path_that_draws_something_else_is_told_apart(other: str) -> None:
    assert is_same_path("M0 0L4 4", "m0 0l4.05 3.95", 0.1)
    assert not is_same_path("M0 0L4 4", other, 0.1)


ROUNDED, EXACT = b"2.346", b"2.34567"


@pytest.mark.parametrize(
    ("inside", "last"),
    [
        (b"%s", ROUNDED),
        (b'<g transform="translate(3 4) rotate(30)">%s</g>', ROUNDED),
        (b'<g transform="scale(.1 -.1)">%s</g>', b"2.35"),
        (b'<g transform="scale(8)">%s</g>', b"2.3457"),
        (b'<clipPath id="c"><rect width="9"/></clipPath><g clip-path="url(#c)">%s</g>', ROUNDED),
        (b'<style>.a{fill:red;stroke:none}</style>%s', ROUNDED),
        # What may be drawn at another scale, or by a threshold
        (b'<g transform="skewX(3)">%s</g>', EXACT),
        (b'<g transform="scale(8)"><use href="#a"/></g>%s', EXACT),
        (b'<style>.a{transform:scale(9)}</style>%s', EXACT),
        (b'<symbol id="a">%s</symbol>', EXACT),
        (b'<svg viewBox="0 0 1 1">%s</svg>', EXACT),
        (b'<g filter="url(#f)">%s</g>', EXACT),
        (b'<g stroke="red">%s</g>', EXACT),
        (b'<g style="stroke : red">%s</g>', EXACT),
        (b'<style>.a{stroke/**/:red}</style>%s', EXACT),
        (b'<g transform="scale(0)">%s</g>', EXACT),
        (b'<g transform="skewX(3)"><g transform="scale(0)">%s</g></g>', EXACT),
    ],
)  # fmt: skip
def test_points_move_where_the_scale_is_known_and_nothing_is_stroked(inside: bytes, last: bytes) -> None:
    path = b'<path d="M0,0 L1.23456,0 L1.23456,2.34567"/>'
    result = clean_svg(HEAD.replace(b"0 0 9 9", b"0 0 24 24") + inside % path + b"</svg>", "a.svg", 0.00004)
    assert result.content is not None, result.reason
    assert b'%s"/>' % last in result.content


@pytest.mark.parametrize(
    "root", ['viewBox="0 0 24"', 'viewBox="0 0 24 24" preserveAspectRatio="none"', 'width="100%" height="24"', ""]
)
def test_points_stay_where_the_size_of_a_drawing_is_not_known(root: str) -> None:
    content = f'<svg xmlns="http://www.w3.org/2000/svg" {root}><path d="M0,0 L1.23456,2.34567"/></svg>'
    result = clean_svg(content.encode(), "a.svg", 0.00004)
    assert result.content is not None and b"M0 0 1.23456 2.34567" in result.content


def test_what_no_browser_reads_goes() -> None:
    inside = b'<desc>Created with Sketch.</desc><g enable-background="new 0 0 9 9"><rect x="1"/></g><desc>A cat</desc>'
    content = HEAD.replace(b"viewBox", b'version="1.1" x="0px" y="0px" viewBox') + inside + b"</svg>"
    result = clean_svg(content, "a.svg")
    assert result.content == (
        b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><g><rect x="1"/></g><desc>A cat</desc></svg>'
    )


def test_a_cleaned_drawing_renders_the_same() -> None:
    import pyvips

    content = TEMPLATE % (
        b'<g id="a" fill="#f00"> <path d="M 1.50,1.50 L 8.0,1.0 C 8,4 6,7 2,8 Z" /> </g>'
        b'<use xlink:href="#a" transform="scale(.5)"/><!-- c -->'
    )
    result = clean_svg(content, "a.svg")
    assert result.content is not None
    before, after = (pyvips.Image.svgload_buffer(c, scale=20).write_to_memory() for c in (content, result.content))
    assert before == after


def test_references_of_every_kind_are_found() -> None:
    content = b'<?xml-stylesheet type="text/css" href="s.css"?>\n' + TEMPLATE.partition(b"\n")[2] % (
        b'<a href="p.html"><image xlink:href="i.png"/></a>\n<use href="#x"/><script href="s.js"/>'
        b'<linearGradient href="#g"/><rect fill="url(#f)" style="filter:url(f.svg#a)"/>'
        b"<style>@import 't.css';\n.a{fill:url(u.png)}</style>"
    )
    references = [(r.role, r.url, r.where, r.line) for r in svg_references(content)]
    assert references == [
        (Role.STYLESHEET, "s.css", "xml-stylesheet", 1),
        (Role.LINK, "p.html", "svg a href", 3),
        (Role.IMAGE, "i.png", "svg image href", 3),
        (Role.IMAGE, "#x", "svg use href", 4),
        (Role.SCRIPT, "s.js", "svg script href", 4),
        (Role.OBJECT, "#g", "svg linearGradient href", 4),
        (Role.CSS_URL, "#f", "svg rect fill", 4),
        (Role.CSS_URL, "f.svg#a", "svg rect style", 4),
        (Role.IMPORT, "t.css", "svg style", 4),
        (Role.CSS_URL, "u.png", "svg style", 5),
    ]


def test_references_of_a_broken_drawing_are_those_that_can_be_read() -> None:
    assert svg_references(b"") == []
    assert [r.url for r in svg_references(HEAD + b'<image href="i.png"/><g></svg>')] == ["i.png"]
