"""The report of a proof: a single HTML file that shows what differs, and the original and the levels side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adaptc.browser.paint import LINES
from adaptc.compile.engine.proof.paints import PagePaint
from adaptc.core.version import VERSION
from adaptc.report.comparisons import ProofViews
from adaptc.report.html_report import COMPARE, STYLE, csp_hash, data_uri, template_environment, template_source

TEMPLATE = "proof.html.j2"


@dataclass(frozen=True, slots=True)
class ProofFigures:
    """A proof: the name of the site, the pages and levels proven, and what was seen.

    ``paints`` say how soon pages are shown on the line of that name.
    """

    name: str
    pages: Sequence[str]
    levels: Sequence[str]
    views: ProofViews
    line: str | None = None
    paints: Sequence[PagePaint] = ()


def stream_proof(figures: ProofFigures) -> Iterator[str]:
    """Yield the page piece by piece. Equal figures give equal bytes."""
    environment = template_environment(None)
    script = template_source(environment, COMPARE)
    return environment.get_template(TEMPLATE).generate(
        proof=figures,
        style=template_source(environment, STYLE),
        script=script,
        script_hash=csp_hash(script),
        data_uri=data_uri,
        line=LINES[figures.line] if figures.line else None,
        version=VERSION,
    )
