from __future__ import annotations

import base64
import hashlib

import pytest

from adaptc.formats.policy import Policy, text_hashes

STYLE = "a { color: red }"


def hash_of(text: str, name: str = "sha256") -> str:
    return f"'{name}-{base64.b64encode(hashlib.new(name, text.encode()).digest()).decode()}'"


@pytest.mark.parametrize(
    ("policy", "style", "script"),
    [
        ("", True, True),
        ("frame-ancestors 'none'", True, True),
        ("default-src 'self'", False, False),
        ("default-src 'none'", False, False),
        ("default-src 'self' 'unsafe-inline'", True, True),
        ("default-src 'self'; style-src 'self' 'Unsafe-Inline'", True, False),
        ("script-src 'unsafe-inline' 'nonce-x'; style-src *", False, False),
        ("script-src 'unsafe-inline' 'strict-dynamic'", True, False),
        ("style-src 'unsafe-inline'; style-src-elem 'self'", False, True),
        ("style-src 'unsafe-inline'; STYLE-SRC 'self'", True, True),  # the first one counts
        ("style-src 'unsafe-inline', style-src 'self'", False, True),  # two policies
    ],
)
def test_what_may_be_in_a_page(policy: str, style: bool, script: bool) -> None:
    read = Policy.of([policy])
    assert (read.allows_style(STYLE), read.allows_script("let a")) == (style, script)


@pytest.mark.parametrize(
    ("policy", "style", "script"),
    [
        ("", True, True),
        ("default-src 'self' 'unsafe-inline'", True, True),
        ("style-src 'unsafe-inline' https://cdn.example; script-src 'unsafe-inline'", False, False),
        ("style-src 'nonce-a'; script-src 'nonce-a' 'strict-dynamic'", True, True),
        ("style-src 'nonce-b'; script-src 'self'", False, False),
        ("default-src 'self' 'unsafe-inline', $policy", False, False),
        ("%{POLICY}e", False, False),
    ],
)
def test_what_browsers_do_not_load_does_not_move_into_the_page(policy: str, style: bool, script: bool) -> None:
    read = Policy.of([policy])
    assert (read.allows_inlining("style", "a"), read.allows_inlining("script", "a")) == (style, script)


@pytest.mark.parametrize("name", ["sha256", "sha384", "sha512"])
def test_hashes_and_nonces(name: str) -> None:
    policy = Policy.of([f"style-src 'self' {hash_of(STYLE, name)}; script-src 'nonce-abc'"])
    assert policy.allows_style(STYLE) and not policy.allows_style(STYLE + " ")
    assert policy.allows_script("let a", "abc") and not policy.allows_script("let a", "ABC")
    url = hash_of(STYLE, name).replace("+", "-").replace("/", "_").upper()
    assert not Policy.of([f"style-src {url}"]).allows_style(STYLE)  # letters of base64 have a case
    lower = hash_of(STYLE, name).replace("+", "-").replace("/", "_").replace(name, name.upper())
    assert Policy.of([f"style-src {lower}"]).allows_style(STYLE)
    assert len(text_hashes(STYLE)) == 3


def test_several_policies_all_hold() -> None:
    policy = Policy.of([f"style-src {hash_of(STYLE)}", "style-src 'unsafe-inline'"])
    assert policy.allows_style(STYLE) and not policy.allows_style("b {}")
    assert not Policy.of([f"style-src {hash_of(STYLE)}", "default-src 'self'"]).allows_style(STYLE)


def test_files_of_the_site_and_data() -> None:
    policy = Policy.of(
        ["default-src 'none'; img-src 'self' data:; font-src https:; script-src 'self' 'strict-dynamic'"]
    )
    assert policy.allows_own("image") and policy.allows_own("font")
    assert not policy.allows_own("style") and not policy.allows_own("script")
    assert policy.allows_data("image") and not policy.allows_data("font")
    assert not Policy.of(["img-src https://example.org/img/"]).allows_own("image")


def test_a_policy_is_open_that_forbids_nothing_that_levels_write() -> None:
    everything = "default-src 'self' 'unsafe-inline' data:"
    assert Policy.of([everything]).is_open and Policy.of(["frame-ancestors 'none'; upgrade-insecure-requests"]).is_open
    assert not Policy.of([f"{everything}; sandbox allow-scripts"]).is_open
    assert not Policy.of([f"{everything}; require-trusted-types-for 'script'"]).is_open
    assert not Policy.of([f"{everything}; img-src 'self'"]).is_open
    assert not Policy.of([f"{everything}; of-the-future 'x'"]).is_open
    assert not Policy() and Policy.of([everything]) and Policy().is_open
