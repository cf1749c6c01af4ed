"""Decoding of style sheets (CSS Syntax 3, section 3.2)."""

import pytest

from adaptc.formats.css.sheet_text import Sheet, decode_sheet


@pytest.mark.parametrize(
    ("content", "environment", "expected"),
    [
        (b"\xef\xbb\xbfa{}", "windows-1252", Sheet("a{}", "utf-8")),
        (b"\xff\xfea\x00{\x00}\x00", "utf-8", Sheet("a{}", "utf-16le")),
        (b'@charset "koi8-r";\xc1', "utf-8", Sheet('@charset "koi8-r";\u0430', "koi8-r")),
        (b'@charset "utf-16le";\xc3\xa9', "koi8-r", Sheet('@charset "utf-16le";\u00e9', "utf-8")),
        (b"@charset 'koi8-r';\xc3\xa9", "utf-8", Sheet("@charset 'koi8-r';\u00e9", "utf-8")),
        (b'@charset "nonsense";\xc3\xa9', "utf-8", Sheet('@charset "nonsense";\u00e9', "utf-8")),
        (b"\x83A", "shift_jis", Sheet("\u30a2", "shift_jis")),
        (b"\xc3\xa9", "", Sheet("\u00e9", "utf-8")),
        (b"\xc3\xa9", "nonsense", Sheet("\u00e9", "utf-8")),
        (b"\xff", "utf-8", Sheet("\ufffd", "utf-8")),
    ],
)
def test_encoding(content, environment, expected):
    assert decode_sheet(content, environment) == expected


def test_newlines_and_nul_are_preprocessed():
    assert decode_sheet(b"a\r\nb\rc\fd\x00", "utf-8").text == "a\nb\nc\nd\ufffd"
