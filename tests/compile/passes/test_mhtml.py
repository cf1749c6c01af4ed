"""MHTML: what is written is read back, byte for byte, by a mail parser."""

from __future__ import annotations

import email
import email.policy

from hypothesis import given
from hypothesis import strategies as st

from adaptc.compile.passes.bundle import Part, write_mhtml

PAGE = Part("http://x.example/a.html", "text/html", b"<p>one\r\ntwo\n--x\n= \t \nthree")


def read(content: bytes) -> list[tuple[str, str, bytes]]:
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert message.get_content_type() == "multipart/related"
    assert not message.defects
    parts = [part for part in message.walk() if not part.is_multipart()]
    return [(part["Content-Location"], part.get_content_type(), part.get_payload(decode=True)) for part in parts]


@given(st.lists(st.binary(max_size=300), max_size=4))
def test_every_byte_comes_back(contents: list[bytes]) -> None:
    parts = [PAGE, *(Part(f"http://x.example/{n}", "image/png", content) for n, content in enumerate(contents))]
    assert read(write_mhtml(parts)) == [(part.location, part.media_type, part.content) for part in parts]


def test_lines_end_as_in_mail() -> None:
    written = write_mhtml([PAGE, Part("http://x.example/b.png", "image/png", bytes(range(256)) * 3)])
    assert b"\n" not in written.replace(b"\r\n", b"")
    assert b"\r" not in written.replace(b"\r\n", b"")
    assert max(map(len, written.split(b"\r\n"))) <= 90


def test_equal_parts_give_equal_bytes_and_others_another_boundary() -> None:
    other = Part(PAGE.location, PAGE.media_type, PAGE.content + b"x")
    assert write_mhtml([PAGE]) == write_mhtml([PAGE])
    assert write_mhtml([PAGE]).split(b'boundary="')[1][:31] != write_mhtml([other]).split(b'boundary="')[1][:31]


def test_text_is_quoted_and_the_rest_is_base64() -> None:
    written = write_mhtml([PAGE, Part("http://x.example/b.png", "image/png", bytes(range(128, 256)))])
    assert written.count(b"quoted-printable") == written.count(b"base64") == 1
