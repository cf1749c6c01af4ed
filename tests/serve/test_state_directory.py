"""The state directory: the index of class keys, as Apache looks them up."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from adaptc.serve import state_directory
from adaptc.serve.state_directory import indexed


def test_a_wide_network_says_that_it_holds_narrower_ones() -> None:
    assert indexed({"10.1.2.3": "poor"}) == {"10.1.2.3": "poor", "10.1": "+"}
    assert indexed({"10.1": "rich", "10.1.2": "poor", "10.2": "poor"}) == {
        "10.1": "+",
        "10.1=": "rich",
        "10.1.2": "poor",
        "10.2": "poor",
    }


def test_the_order_does_not_matter() -> None:
    one = {"10.1.2": "poor", "10.1.2.3": "rich", "10.1": "normal"}
    assert indexed(one) == indexed(dict(reversed(one.items())))


def test_addresses_of_ipv6_in_either_spelling() -> None:
    assert indexed({"2001:db8:1:2:": "poor", "2001:db8::7": "rich", "::1": "rich", "2001:db8:2:": "poor"}) == {
        "2001:db8:1:2:": "poor",
        "2001:db8:1:": "+",
        "2001:db8::7": "rich",
        "2001:db8::": "+",
        "::1": "rich",
        ":": "+",
        "2001:db8:2:": "poor",
    }


def test_a_program_that_hangs_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "httxt2dbm"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(state_directory, "dbm_program", lambda: str(program))
    monkeypatch.setattr(state_directory, "HTXT2DBM_SECONDS", 0.05)
    with pytest.raises(TimeoutError, match=r"did not end in 0\.05 seconds") as caught:
        state_directory.make_dbm(tmp_path / "classes.txt", tmp_path / "classes.dbm")
    assert caught.value.errno == errno.ETIMEDOUT
