"""The name of a site, from its home page."""

from __future__ import annotations

from pathlib import Path

import pytest

from adaptc.report.html_report import site_name


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        ("<title>\n The  Gazette &amp; Co. </title>", "The Gazette & Co."),
        ("<title>News</title><meta property=og:site_name content='The Gazette'>", "The Gazette"),
        ("<title>News</title><meta name=application-name content=Gazette>", "Gazette"),
        ("<title> </title>", None),
        ("", None),
        ("<svg><title>Icon</title></svg>", None),
        (f"<title>{'long ' * 40}</title>", ("long " * 40)[:119].rstrip() + "…"),
    ],
)
def test_a_home_page_says_the_name(tmp_path: Path, head: str, wanted: str | None) -> None:
    (tmp_path / "index.html").write_text(f"<!DOCTYPE html>{head}<p>Text</p>")
    assert site_name(tmp_path, ["index.html"]) == wanted


def test_a_page_in_another_encoding_that_is_cut(tmp_path: Path) -> None:
    text = "<!DOCTYPE html><meta charset=shift_jis><title>新聞</title>" + "<p>新聞</p>" * 20_000
    (tmp_path / "index.html").write_bytes(text.encode("shift_jis"))
    assert site_name(tmp_path, ["index.html"]) == "新聞"


def test_the_first_home_page_that_has_a_name(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes(b"\x81\xff\x00")
    (tmp_path / "index.htm").write_text("<title>Name</title>")
    assert site_name(tmp_path, ["gone.html", "index.html", "index.htm"]) == "Name"
    assert site_name(tmp_path, []) is None
