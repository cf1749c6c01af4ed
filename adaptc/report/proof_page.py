"""The report of a proof: a single HTML file that shows what differs, the original and the level side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adaptc.core.version import VERSION
from adaptc.report.html_report import STYLE, data_uri, template_environment, template_source

TEMPLATE = "proof.html.j2"


@dataclass(frozen=True, slots=True)
class ProvenPage:
    """A page at a level and a width in CSS pixels: what differs, in sentences, or why it could not be proven.

    ``pictures`` are two WebP images, of the original and of the level; empty where there are none.
    """

    page: str
    level: str
    width: int
    problems: tuple[str, ...] = ()
    pictures: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofFigures:
    """A proof: the name of the site, the pages and levels proven, and what differs."""

    name: str
    pages: Sequence[str]
    levels: Sequence[str]
    differing: Sequence[ProvenPage]


def stream_proof(figures: ProofFigures) -> Iterator[str]:
    """Yield the page piece by piece. Equal figures give equal bytes."""
    environment = template_environment(None)
    return environment.get_template(TEMPLATE).generate(
        proof=figures, style=template_source(environment, STYLE), data_uri=data_uri, version=VERSION
    )
