"""Decoding, encoding, sniffing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples.html5lib import DATA, sections

import adaptc
from adaptc.formats.html.document import (
    Irreversible,
    encode_page,
    has_same_dom,
    is_forced_quirks,
    is_limited_quirks,
    is_quirks,
    parse,
    read_page,
)
from adaptc.formats.html.encoding import canonical_name, encode, sniff_encoding


def meta(label: str) -> bytes:
    return f'<meta charset="{label}"><p>'.encode()


SAMPLES = [
    ("utf-8", "äöü € 日本語 😀"),
    ("windows-1252", "äöü € “”"),
    ("windows-1251", "Привет"),
    ("koi8-r", "Привет"),
    ("koi8-u", "Привіт ґ"),
    ("iso-8859-2", "žluťoučký"),
    ("windows-1253", "Ελληνικά"),
    ("windows-874", "ภาษาไทย"),
    ("shift_jis", "日本語 カタカナ ｱｲｳ ～"),
    ("euc-jp", "日本語 カタカナ ｱｲｳ"),
    ("iso-2022-jp", "日本語"),
    ("euc-kr", "한국어 똠방각하"),
    ("big5", "繁體中文"),
    ("gbk", "简体中文 €"),
    ("gb18030", "简体中文 😀"),
    ("x-mac-cyrillic", "Привет"),
    ("macintosh", "äöü"),
]


@pytest.mark.parametrize(("encoding", "text"), SAMPLES)
def test_a_declared_encoding_survives(encoding: str, text: str) -> None:
    encoded = encode(text, encoding)
    assert encoded is not None
    content = meta(encoding) + encoded
    page = read_page(content)
    assert (page.encoding, page.declared, page.bom) == (encoding, True, b"")
    assert page.text.endswith(text)
    assert encode_page(page, page.text) == content


@pytest.mark.parametrize(
    ("bom", "codec_name", "encoding"),
    [
        (b"\xff\xfe", "utf-16-le", "utf-16le"),
        (b"\xfe\xff", "utf-16-be", "utf-16be"),
        (b"\xef\xbb\xbf", "utf-8", "utf-8"),
    ],
)
def test_a_byte_order_mark_decides_and_stays(bom: bytes, codec_name: str, encoding: str) -> None:
    content = bom + "<meta charset=koi8-r><p>ж\r\n".encode(codec_name)
    page = read_page(content, "iso-8859-1")
    assert (page.encoding, page.declared, page.bom) == (encoding, True, bom)
    assert page.text == "<meta charset=koi8-r><p>ж\n"
    assert encode_page(page, "<p>ж") == bom + "<p>ж".encode(codec_name)


def test_every_byte_of_windows_1252_survives() -> None:
    content = b"<p>" + bytes(set(range(256)) - {0x0D})
    page = read_page(content)
    assert (page.encoding, page.declared) == ("windows-1252", False)
    assert "\x81" in page.text and "€" in page.text
    assert encode_page(page, page.text) == content


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("latin1", "windows-1252"),
        ("ISO-8859-1", "windows-1252"),
        ("us-ascii", "windows-1252"),
        ("ks_c_5601-1987", "euc-kr"),
        ("x-sjis", "shift_jis"),
        ("gb2312", "gbk"),
        ("utf8", "utf-8"),
        ("nonsense", None),
    ],
)
def test_labels_are_those_of_browsers(label: str, name: str | None) -> None:
    assert canonical_name(label) == name


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"<meta charset=utf-16><p>", "utf-8"),
        (b"<meta charset=x-user-defined><p>", "windows-1252"),
        (b"<meta http-equiv=content-type content='text/html; charset=euc-kr'>", "euc-kr"),
        (b"<!-- <meta charset=koi8-r> --><p>", "windows-1252"),
        (b"<?xml version='1.0' encoding='koi8-r'?><html>", "koi8-r"),
        (b"<?xml version='1.0' encoding='koi8-r'?><meta charset=utf-8>", "utf-8"),
        (b"<?xml version='1.0' encoding='utf-16'?><html>", "utf-8"),
        ("<?xml version='1.0'?>".encode("utf-16-le"), "utf-16le"),
        (b"<head>" + b" " * 1100 + b"<meta charset=euc-kr>", "euc-kr"),
        (b"<meta charset=bogus>", "windows-1252"),
    ],
)
def test_sniffing(content: bytes, encoding: str) -> None:
    assert sniff_encoding(content).name == encoding


def test_the_encoding_of_the_transport_beats_the_page() -> None:
    page = read_page(meta("utf-8") + "Привет".encode("koi8-r"), "KOI8-R")
    assert (page.encoding, page.declared) == ("koi8-r", True)
    assert page.text.endswith("Привет")


@pytest.mark.parametrize(
    "content",
    [
        meta("utf-8") + b"\xff",
        meta("euc-kr") + b"\xff\xff",
        meta("hz-gb-2312") + b"x",
        b"\xff\xfe<\0p\0>",
        b"\xff\xfe\x00\xd8",
    ],
)
def test_broken_bytes_are_irreversible(content: bytes) -> None:
    with pytest.raises(Irreversible) as raised:
        read_page(content)
    assert raised.value.encoding in str(raised.value)


def test_characters_outside_the_encoding_become_references() -> None:
    page = read_page(meta("windows-1251"))
    assert encode_page(page, page.text + "日<a title=日>") == meta("windows-1251") + b"&#26085;<a title=&#26085;>"


@pytest.mark.parametrize("markup", ["<script>日</script>", "<style>日{}</style>", "<!--日-->", "<a日>", "<p 日>"])
def test_where_references_do_not_work_encoding_is_refused(markup: str) -> None:
    page = read_page(meta("windows-1251"))
    assert encode_page(page, page.text + markup) is None


def test_a_declaration_that_moves_too_far_is_refused() -> None:
    page = read_page(meta("koi8-r") + b"\xc1")
    assert encode_page(page, "<!--" + "x" * 1100 + "-->" + page.text) is None


def test_an_undeclared_page_may_not_gain_a_declaration() -> None:
    page = read_page(b"<p>x")
    assert not page.declared
    assert encode_page(page, '<meta charset="utf-8"><p>x') is None


PAD = "<!--" + "x" * 1100 + "-->"


@pytest.mark.parametrize(
    ("before", "is_declared"),
    [
        (f"<style>{PAD}</style>", True),
        (f"<html><head><title>a <b></title><script>'<p>'</script>{PAD}<noscript><link></noscript>", True),
        (f"<p>words{PAD}", False),
        (f"<template></template>{PAD}", False),
        (f"<noscript><img></noscript>{PAD}", False),
        (f"<x-y></x-y>{PAD}", False),
    ],
)
def test_a_late_declaration_counts_where_browsers_look_for_it(before: str, is_declared: bool) -> None:
    """As Chromium 156 shows the pages over HTTP."""
    for meta_tag in ("<meta charset=utf-8>", '<meta http-equiv=Content-Type content="text/html; charset=utf-8">'):
        page = read_page(f"<!doctype html>{before}{meta_tag}<p>café".encode())
        assert (page.encoding, page.declared) == ("utf-8", is_declared)


def test_an_undeclared_page_gains_no_characters_beyond_ascii() -> None:
    source = f"<!doctype html><p>{PAD}<meta charset=utf-8><p>caf&eacute;"
    page = read_page(source.encode())
    assert encode_page(page, source.replace("&eacute;", "é")) == source.replace("&eacute;", "&#233;").encode()
    mixed = read_page((source + "é").encode())
    assert encode_page(mixed, mixed.text.replace("&eacute;", "é")) is None
    assert encode_page(mixed, mixed.text + "ü") == mixed.text.encode() + b"&#252;"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_utf8_round_trip(text: str) -> None:
    content = b"\xef\xbb\xbf" + text.encode()
    page = read_page(content)
    assert encode_page(page, page.text) == content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


@given(st.binary(max_size=60), st.sampled_from([name for name, _ in SAMPLES]))
def test_any_bytes_survive_or_are_irreversible(content: bytes, label: str) -> None:
    try:
        page = read_page(content, label)
    except Irreversible:
        return
    encoded = encode_page(page, page.text)
    normal = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if page.encoding[:5] != "utf-1" else encoded
    assert encoded is None or encoded == normal


# The standard's prescan takes a <meta> inside of a script or style for one, Chromium's does not.
DISPUTED = (b"<script", b"<style")


def test_html5lib_encoding_cases() -> None:
    wrong = []
    for name in ("tests1.dat", "tests2.dat"):
        for case in sections(DATA / "html5lib-encoding" / name):
            expected = canonical_name(case["encoding"].strip().decode())
            if sniff_encoding(case["data"]).name != expected and not any(mark in case["data"] for mark in DISPUTED):
                wrong.append(case)
    assert wrong == []


def test_same_dom_looks_at_both_scripting_modes() -> None:
    assert has_same_dom("<p>a", "<p>a</p>")
    assert has_same_dom("<noscript><p>a</noscript>", "<noscript><p>a</noscript></body>")
    assert not has_same_dom("<noscript><p>a</noscript>", "<noscript><p>a</p></noscript>")


@pytest.mark.parametrize(
    ("doctype", "quirks", "limited"),
    [
        ("", True, False),
        ("<!DOCTYPE html>", False, False),
        ("<!doctype HTML system 'about:legacy-compat'>", False, False),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">', True, False),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">', True, False),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN" "http://a/">', False, True),
        ('<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "x">', False, True),
        ('<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x">', False, False),
        ("<!DOCTYPE svg>", True, False),
        ("<!DOCTYPE html foo>", True, False),
    ],
)  # fmt: skip
def test_quirks_mode(doctype: str, quirks: bool, limited: bool) -> None:
    text = doctype + "<p>x"
    assert (is_quirks(parse(text)) or is_forced_quirks(text)) is quirks
    assert is_limited_quirks(parse(text)) is limited


NODE_TYPES = {"Document", "Element", "Node", "Text", "Namespace"}
# Callers give selectors to the trees, whose errors they handle
ERRORS = {"SelectorSyntaxError"}


def imported_from_turbohtml(path: Path) -> set[str]:
    """Return the names that a module imports from turbohtml: ``"*"`` is the module itself, which can parse."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {"*" for alias in node.names if alias.name == "turbohtml"}
        elif isinstance(node, ast.ImportFrom) and node.module == "turbohtml":
            names |= {alias.name for alias in node.names}
    return names


def test_only_this_package_parses_html() -> None:
    package = Path(adaptc.__file__).parent
    others = [path for path in package.rglob("*.py") if package / "formats" / "html" not in path.parents]
    assert {name for path in others for name in imported_from_turbohtml(path)} <= NODE_TYPES | ERRORS
