"""Content codings: round trips, reproducible bytes, thresholds, ceilings, and bombs that do no harm."""

from __future__ import annotations

import contextlib
import gzip
import random
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptc.core.model import CODINGS, TOKENS
from adaptc.formats.codings import (
    CEILINGS,
    MIB,
    SETTINGS,
    CodingError,
    Setting,
    decode,
    encode,
    encode_if_smaller,
    recipe,
    setting_for,
)

EFFORTS = ("fast", "default", "max")
PAGE = b"".join(b"<li><a href='story-%d.html'>Story %d</a></li>\n" % (n, n * 7) for n in range(300))
NOISE = random.Random(5).randbytes(3000)

every_setting = pytest.mark.parametrize(("coding", "effort"), list(SETTINGS))
every_coding = pytest.mark.parametrize("coding", CODINGS)


@every_setting
@pytest.mark.parametrize("content", [b"", b"x", PAGE, NOISE, bytes(200_000)], ids=len)
def test_round_trip(coding, effort, content):
    assert decode(encode(content, coding, effort), coding, len(content)) == content


@given(st.binary(max_size=2000), st.sampled_from(CODINGS), st.sampled_from(["fast", "default"]))
@settings(max_examples=60, deadline=None)
def test_round_trip_of_anything(content, coding, effort):
    assert decode(encode(content, coding, effort), coding, None) == content


@every_coding
def test_more_effort_is_not_larger(coding):
    words = [f"{chr(97 + n % 26)}{n * n % 9973}" for n in range(2000)]
    page = " ".join(random.Random(7).choices(words, k=4000)).encode()
    fast, default, most = (len(encode(page, coding, effort)) for effort in EFFORTS)
    assert fast >= default >= most


@pytest.mark.parametrize("effort", EFFORTS)
def test_gzip_header_names_no_time_no_file_and_no_system(effort):
    header = encode(PAGE, "gz", effort)[:10]
    assert header[:4] == b"\x1f\x8b\x08\x00"  # no flags: no name, no comment
    assert header[4:8] == bytes(4)
    assert header[9] == 255


@every_setting
def test_same_bytes_again(coding, effort):
    assert encode(PAGE, coding, effort) == encode(PAGE, coding, effort)


def test_other_decoders_agree():
    assert gzip.decompress(encode(PAGE, "gz", "max")) == PAGE
    assert brotli.decompress(encode(PAGE, "br", "max")) == PAGE
    assert zstandard.decompress(encode(PAGE, "zst", "max")) == PAGE


@pytest.mark.parametrize("effort", EFFORTS)
def test_zstd_window_stays_within_what_browsers_accept(effort):
    large = bytes(9 * MIB)
    frame = zstandard.get_frame_parameters(encode(large, "zst", effort))
    assert frame.window_size <= 8 * MIB  # RFC 9659
    assert frame.content_size == len(large)
    assert not frame.has_checksum


@every_coding
def test_nothing_where_nothing_is_saved(coding):
    assert encode_if_smaller(b"", coding, "fast") is None
    assert encode_if_smaller(b"short", coding, "fast") is None
    assert encode_if_smaller(NOISE, coding, "fast") is None
    assert encode_if_smaller(PAGE, coding, "fast") == encode(PAGE, coding, "fast")


@pytest.mark.parametrize("coding", ["gz", "zst"])  # brotli stores such content as it is
def test_half_a_per_cent_is_too_little(coding):
    content = random.Random(6).randbytes(40_000) + bytes(250)
    encoded = encode(content, coding, "default")
    assert 16 <= len(content) - len(encoded) < len(content) / 100
    assert encode_if_smaller(content, coding, "default") is None


def test_large_content_gets_a_faster_setting():
    assert setting_for("gz", "max", 4 * MIB) == Setting("zopfli", 15)
    assert setting_for("gz", "max", 4 * MIB + 1) == Setting("libdeflate", 12)
    assert setting_for("gz", "max", 100 * MIB) == Setting("libdeflate", 8)
    assert setting_for("br", "max", 100 * MIB) == SETTINGS["br", "fast"]
    assert setting_for("zst", "max", 100 * MIB) == SETTINGS["zst", "fast"]


def test_ceilings_lead_to_the_same_encoding():
    gzips = {"libdeflate", "zopfli"}
    for setting, (_, faster) in CEILINGS.items():
        assert setting.encoder == faster.encoder or {setting.encoder, faster.encoder} == gzips


@every_coding
def test_bomb_is_stopped_at_the_limit(coding):
    bomb = encode(bytes(30 * MIB), coding, "fast")
    with pytest.raises(CodingError, match="larger than 1000 bytes"):
        decode(bomb, coding, 1000)


@every_coding
def test_limit_is_inclusive(coding):
    encoded = encode(PAGE, coding, "fast")
    assert decode(encoded, coding, len(PAGE)) == PAGE
    with pytest.raises(CodingError):
        decode(encoded, coding, len(PAGE) - 1)


@every_coding
@pytest.mark.parametrize("cut", [0, 1, 3, 9, 20, -9, -1])
def test_cut_off_stream_is_refused(coding, cut):
    with pytest.raises(CodingError):
        decode(encode(PAGE, coding, "fast")[:cut], coding, None)


@every_coding
def test_garbage_after_the_stream_is_refused(coding):
    with pytest.raises(CodingError):
        decode(encode(PAGE, coding, "fast") + b"garbage", coding, None)


@every_coding
def test_other_content_is_refused(coding):
    with pytest.raises(CodingError):
        decode(PAGE, coding, None)


@given(st.binary(max_size=300), st.sampled_from(CODINGS))
@settings(max_examples=150, deadline=None)
def test_decoding_anything_raises_nothing_else(content, coding):
    with contextlib.suppress(CodingError):
        decode(content, coding, 10_000)


@pytest.mark.parametrize("coding", ["gz", "zst"])
def test_several_streams_are_one_content(coding):
    twice = encode(PAGE, coding, "fast") + encode(b"end", coding, "fast")
    assert decode(twice, coding, None) == PAGE + b"end"


def test_gzip_checksum_is_checked():
    encoded = bytearray(encode(PAGE, "gz", "fast"))
    encoded[-5] ^= 1
    with pytest.raises(CodingError):
        decode(bytes(encoded), "gz", None)
    with pytest.raises(CodingError):
        decode(zlib.compress(PAGE), "gz", None)


def test_names():
    assert {coding for coding, _ in SETTINGS} == set(CODINGS)
    assert [TOKENS[coding] for coding in CODINGS] == ["br", "zstd", "gzip"]
    with pytest.raises(KeyError):
        encode(b"", "bz2", "fast")


def test_recipe_names_the_codecs():
    assert recipe("br", "fast").startswith("codings/1 Brotli 1.")
    assert [part for part in recipe("gz", "max").split() if part.isalpha()] == ["deflate", "zopfli"]
