"""The summary of a build: what it says, how it is aligned, what it does without colour and without room."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.samples.report_figures import found, level, site

from adaptc.core.quantities import written_bytes, written_saving
from adaptc.report.figures import capacity_factor
from adaptc.report.summary import columns_of, render_summary


def table(text: str) -> list[str]:
    return text.split("\n\n")[1].splitlines()


def test_says_what_each_level_costs_and_saves():
    head, full, lossless = table(render_summary(site()))
    assert head.split() == [
        "level",
        "files",
        "requests/page",
        "bytes/page",
        "best",
        "coding",
        "saving",
        "capacity",
    ]
    assert full.split() == ["full", "(4)", "12", "10.0", "300", "kB", "100", "kB", "–", "1.0", "×"]
    assert lossless.split() == [
        "lossless",
        "(3)",
        "12",
        "5.0",
        "150",
        "kB",
        "50",
        "kB",
        "50.0",
        "%",
        "2.0",
        "×",
    ]


def test_columns_are_aligned_and_free_of_escape_codes_in_a_pipe():
    text = render_summary(site())
    assert "\x1b" not in text
    assert len({columns_of(line) for line in table(text)}) == 1


def test_columns_stay_aligned_with_wide_level_names():
    figures = replace(site(), levels=(level("完全", 4, 1.0), level("lossless", 3, 0.5)))
    assert len({columns_of(line) for line in table(render_summary(figures))}) == 1


def test_colour_only_adds_escape_codes():
    import re

    plain, painted = render_summary(site()), render_summary(site(), colour=True)
    assert painted != plain
    assert re.sub(r"\x1b\[\d+m", "", painted) == plain


@pytest.mark.parametrize("width", [30, 45, 60, 80])
def test_leaves_columns_out_until_the_table_fits(width):
    lines = table(render_summary(site(), width=width))
    assert max(map(columns_of, lines)) <= max(width, 35)
    assert "saving" in lines[0]


def test_counts_diagnostics_the_gravest_first():
    lines = render_summary(site()).split("\n\n")[2].splitlines()
    assert lines[0] == "Diagnostics: 1 error, 6,961 warnings"
    assert [line.split() for line in lines[1:]] == [
        ["error", "1", "pass-failed"],
        ["warning", "6,961", "missing-target"],
    ]


def test_counts_notes_without_listing_them():
    text = render_summary(site(diagnostics=(found("image-unchanged", 41, "a.gif", reason="moves"),)))
    assert "Diagnostics: 41 notes" in text
    assert "image-unchanged" not in text


def test_says_when_nothing_was_found_and_where_to_look():
    text = render_summary(site(diagnostics=()), output="public/opt/")
    assert "No diagnostics." in text
    assert "public/opt/report.html" in text


def test_a_level_alone_has_nothing_to_be_compared_with():
    alone = replace(site(), levels=site().levels[1:2])
    assert "build the level full as well: --level full" in render_summary(alone)
    assert "--level full" not in render_summary(replace(alone, levels=site().levels[:1]))


def test_hostile_names_stay_on_their_line():
    figures = site(name="a\n\x1b[31mb\udcff")
    assert render_summary(figures).splitlines()[0].startswith("a\\n\\x1b[31mb\\xff: ")


def test_a_site_without_levels_has_a_summary():
    assert "newsroom" in render_summary(replace(site(), levels=()))


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (999.6, "1.0 kB"),
        (84_000, "84 kB"),
        (999_600, "1.0 MB"),
        (9.96e6, "10 MB"),
    ],
)
def test_bytes_in_si_units(octets, text):
    assert written_bytes(octets) == text


def test_a_saving_below_zero_has_a_minus_sign():
    assert written_saving(110, 100) == "−10.0 %"
    assert written_saving(1, 0) == "–"


def test_capacity_by_the_papers_coefficients():
    # Abdelzaher, Shin and Bhatti 2002: a = 0.83 ms a request, b = 0.033 ms a kB
    assert capacity_factor(3, 65_000, 59, 322_000) == pytest.approx((0.83 * 59 + 0.033 * 322) / (0.83 * 3 + 0.033 * 65))
    assert capacity_factor(0, 0, 0, 0) == 1.0
