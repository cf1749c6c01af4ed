"""The state directory: the index of class keys, as Apache looks them up."""

from __future__ import annotations

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
