from __future__ import annotations

import base64
import hashlib

import pytest

from adaptc.core.digest import DigestsWritten, content_digests, digest_bytes, written_digests

CONTENT = b"console.log(1)\n"
DIGESTS = content_digests(CONTENT, digest_bytes(CONTENT))


def hexadecimal(name: str) -> str:
    return hashlib.new(name, CONTENT).hexdigest()


def in_base64(name: str) -> str:
    return base64.b64encode(hashlib.new(name, CONTENT).digest()).decode()


def found_in(text: str | bytes) -> list[str]:
    """Return the algorithms by which a text holds the digest of ``CONTENT``."""
    written = written_digests(text if isinstance(text, bytes) else text.encode())
    return [name for name, _ in DigestsWritten(written).matches(DIGESTS)]


@pytest.mark.parametrize("name", ["md5", "sha1", "sha256", "sha384", "sha512"])
def test_every_form_of_a_digest(name: str) -> None:
    whole = in_base64(name)
    url = base64.urlsafe_b64encode(base64.b64decode(whole)).decode()
    forms = (
        f'{{"/a.js": "{hexadecimal(name)}"}}',  # ngsw.json, precache lists
        f"{hexadecimal(name).upper()}  a.js",
        f"<script integrity={name}-{whole}>",
        f'"hash":"{name}-{whole}"',  # blazor.boot.json
        f"script-src 'self' '{name}-{whole}';",  # Content-Security-Policy
        f"{name}:{hexadecimal(name)}",
        f'"{whole.rstrip("=")}"',
        f'["{url}"]',
        whole.replace("/", r"\/").join('""'),
        whole.replace("/", r"\u002f").replace("+", r"\u002B").replace("=", r"\u003D").join('""'),
        whole.replace("/", r"\x2f").replace("+", r"\x2B").replace("=", r"\x3d").join('""'),
        whole.replace("/", "&#x2F;").replace("+", "&#43;").replace("=", "&equals;").join('""'),
        whole.replace("/", "%2F").replace("+", "%2b").replace("=", "%3D").join('""'),
        f'"0x{hexadecimal(name)}"',
        f"It is {hexadecimal(name)}.",
    )
    assert [found_in(text) for text in forms] == [[name]] * len(forms)
    assert found_in(f'"{hexadecimal(name)}"'.encode("utf-16")) == [name]


@pytest.mark.parametrize("name", ["sha1", "sha256", "sha384", "sha512"])
def test_a_digest_byte_by_byte(name: str) -> None:
    digest = hashlib.new(name, CONTENT).digest()
    signed = [each - 256 if each > 127 else each for each in digest]
    forms = (
        f"new Uint8Array({list(digest)})",
        f"[{','.join(map(hex, digest))}]",
        f"[\n {', '.join(map(str, signed))},\n]",
        *(digest.hex(apart).upper() for apart in ":- "),
        "".join(f"\\x{each:02x}" for each in digest).join('""'),
    )
    assert [found_in(text) for text in forms] == [[name]] * len(forms)
    assert found_in(str([*digest, 1])) == found_in(str([256, *digest[1:]])) == []


def test_a_shortened_digest() -> None:
    assert found_in(f'{{revision:"{hexadecimal("sha1")[:8]}"}}') == ["sha1"]
    assert found_in(f'"{hexadecimal("sha256")[:20]}"') == ["sha256"]
    assert found_in(f'"sha256-{in_base64("sha256")[:16]}"') == ["sha256"]
    assert found_in(f'"{hexadecimal("sha1")[:7]}"') == []


def test_names_queries_and_colours_are_no_digests() -> None:
    digest = hexadecimal("sha256")
    others = (
        f'<link href="/css/main.{digest}.css">',
        f"/assets/{digest}/main.css",
        f"main.css?v={digest}",
        f"main.css?{digest}",
        f"a.css?x=1&h={digest}",
        f"#{digest[:8]}",
        "12345678 deadbeef 00000000 background-image feedface",
    )
    assert [found_in(text) for text in others] == [[]] * len(others)
    assert written_digests(others[-1].encode()) == ()


def test_each_digest_is_found_once_and_binary_runs_are_passed_over() -> None:
    digest = hexadecimal("sha1")
    assert written_digests(f"{digest} {digest} {'A1' * 4000}".encode()) == (digest[:12],)
    assert DigestsWritten(()).matches("") is not None and list(DigestsWritten(("ab" * 6,)).matches("")) == []
