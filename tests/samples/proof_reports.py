"""Reports that show a made-up proof: pictures of the original and of levels, and passes that were dropped."""

from __future__ import annotations

import io

from PIL import Image

from tests.samples.report_figures import render_report, site

from adaptc.compile.analyse.demotions import Demotion
from adaptc.compile.engine.proof.records import ProvenView
from adaptc.report.comparisons import ProofViews
from adaptc.report.html_report import ProofFigures, stream_proof

RED, BLUE, GREEN = "red", "blue", "green"


def picture(colour: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (640, 300), colour).save(out, "WEBP")
    return out.getvalue()


PICTURES = {colour: picture(colour) for colour in (RED, BLUE, GREEN)}
VIEWS = (
    ProvenView("b.html", "full", 412, (), (RED, RED)),
    ProvenView("b.html", "low", 412, (), (RED, BLUE)),
    ProvenView("b.html", "lower", 412, (), (RED, BLUE)),
    ProvenView("b.html", "text", 412, ("blank: it is blank", "words: <none>"), (RED, GREEN)),
    ProvenView("b.html", "gone", 412, ("not proven: it hangs",)),
    ProvenView("a.html", "low", 1280, (), (RED, "collected")),
)
DEMOTIONS = {
    ("text", "b.html"): (Demotion("text", "at 412 pixels shows nothing"),),
    ("low", "a.css"): (Demotion("fonts", "b.html at 412 pixels shows another text"),),
}


def proven() -> ProofViews:
    return ProofViews.of(VIEWS, DEMOTIONS, PICTURES.get)


def pages() -> dict[str, str]:
    """Return the report of a build and that of a proof."""
    proof = ProofFigures("site", ["b.html"], ["full", "low", "lower", "text"], proven())
    return {
        "report.html": render_report(site(), proven=proven()),
        "proof.html": "".join(stream_proof(proof)),
    }
