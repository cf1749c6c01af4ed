"""Marks of template engines."""

from __future__ import annotations

import pytest

from adaptc.formats.html.syntax import has_template_attribute, template_mark


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("<?php echo 1 ?>", "<?php"),
        ("<p><?= $a ?>", "<?="),
        ("<% if a %>", "<%"),
        ("{% extends 'a' %}", "{% extends"),
        ("<p>{% block b %}", "{% block"),
        ("{% include 'a' %}", "{% include"),
        ("<?xml version='1.0'?><p>100 %</p><pre>{% if a %} {{ b }} ${c}</pre>", None),
        ("", None),
    ],
)
def test_pages_that_are_sources_of_others(text: str, mark: str | None) -> None:
    assert template_mark(text) == mark


@pytest.mark.parametrize("value", ["'{{ a }}'", '"x {% if a %}"', "'<%= a %>'", '"/p/${id}"'])
def test_attributes_that_are_filled_in(value: str) -> None:
    assert has_template_attribute(f"<a href = {value}>b</a>")


@pytest.mark.parametrize("text", ["<a href='b'>{{ c }}</a>", "<p title='100 %'>${d}", "<script>f({a: '%'})</script>"])
def test_marks_elsewhere_are_text(text: str) -> None:
    assert not has_template_attribute(text)
