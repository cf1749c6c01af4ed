"""The table of representations: encoders, settings and choices elsewhere name the same codings and formats."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import resources

from adaptc.config.config import CodingsConfig
from adaptc.core import media
from adaptc.core.model import CODINGS, FORMATS, MEDIA_TYPES, REPRESENTATIONS
from adaptc.formats.codings import SETTINGS, decode, encode
from adaptc.formats.image.alternates import ENCODERS
from adaptc.workflow.preview.panes import CHOICES


def test_names_are_unique_and_stand_in_the_order_of_preference() -> None:
    names = [row.name for row in REPRESENTATIONS]
    assert sorted(set(names)) == sorted([*FORMATS, *CODINGS])
    for preferred in (("avif", "webp"), ("br", "zst", "gz")):
        assert [name for name in names if name in preferred] == list(preferred)


def test_each_format_has_an_encoder_and_an_extension_by_which_servers_know_it() -> None:
    assert set(ENCODERS) == set(FORMATS)
    assert {name: media.by_name(f"a.png.{name}") for name in FORMATS} == MEDIA_TYPES


def test_each_coding_has_an_encoder_for_each_effort_and_a_decoder() -> None:
    assert set(SETTINGS) == {(coding, effort) for coding in CODINGS for effort in ("fast", "default", "max")}
    assert {decode(encode(b"x" * 99, coding, "fast"), coding, 99) for coding in CODINGS} == {b"x" * 99}


def test_each_coding_can_be_switched_off_and_chosen_in_the_preview() -> None:
    assert {field.name for field in fields(CodingsConfig)} == {*CODINGS, "dictionaries", "versions_back", "effort"}
    page = resources.files("adaptc.templates").joinpath("preview.html").read_text("utf-8")
    choice = re.search(r'<select class="coding">(.*?)</select>', page, re.DOTALL)
    assert choice is not None
    assert set(re.findall(r'value="([^"]+)"', choice[1])) == set(CHOICES)
