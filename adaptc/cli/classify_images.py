"""``adaptc classify-images``: says what each image of the pages is for, and why."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adaptc.cli.command import FILE, FOLDER, Invocation, command
from adaptc.cli.render import print_json, print_text, table
from adaptc.core.diagnostics import UsageError, printable

if TYPE_CHECKING:
    from adaptc.compile.analyse.decorations.labels import ImageLabel
    from adaptc.compile.analyse.decorations.rules import DecorationRules
    from adaptc.config.config import Config
    from adaptc.core.fs import Tree
    from adaptc.site.site import Site


@command("classify-images", formats=("text", "json", "jsonl"))
@click.argument("docroot", required=False, type=FOLDER)
@click.option("--page", "globs", multiple=True, metavar="GLOB", help="Only pages that match; may be given again.")
@click.option("--level", metavar="NAME", help="Obey the adaptation tags of this level, too.")
@click.option(
    "--rules", "own_rules", type=FILE, metavar="FILE", help="Weights, limits and words that replace those that ship."
)
def classify_images(
    invocation: Invocation, docroot: Path | None, globs: tuple[str, ...], level: str | None, own_rules: Path | None
) -> None:
    """Say what each image of the pages is for, and why.

    An image is logo, story, content, decoration or ad; decorations and ads are left out of degraded pages. With
    --format jsonl, one JSON object a line: site, page, ref (as written), path, kind, label, score, reasons.
    """
    from adaptc.site.docroot import load_site

    config = invocation.load({"docroot": docroot})
    rules = _rules(config, own_rules)
    tree, site = load_site(config)
    uses = _image_uses(tree, site, rules, globs, _lineage(config, level))
    name = site_name(config)
    if invocation.format == "jsonl":
        for use in uses:
            click.echo(json.dumps(record(name, use), ensure_ascii=True))
    elif invocation.format == "json":
        print_json([record(name, use) for use in uses])
    else:
        _print_pages(uses, invocation)


def _rules(config: Config, path: Path | None) -> DecorationRules:
    from adaptc.compile.analyse.decorations.rules import configured_rules

    return configured_rules(config, path).rules


def _lineage(config: Config, level: str | None) -> tuple[str, ...]:
    """Return the names whose tags hold at a level. Raises ``UsageError`` if there is no such level."""
    from adaptc.config.rulebook import choose_levels, load_levels

    return () if level is None else choose_levels([level], load_levels(config.levels))[0].lineage


def _image_uses(
    tree: Tree, site: Site, rules: DecorationRules, globs: tuple[str, ...], levels: tuple[str, ...]
) -> Iterator[ImageLabel]:
    from adaptc.compile.analyse.decorations.labels import classify_site, site_pages

    if not globs:
        return classify_site(tree, site, rules, None, levels)
    pages = [path for path in site_pages(site) if any(fnmatch.fnmatchcase(path, glob) for glob in globs)]
    if not pages:
        raise UsageError(f"no page matches {' or '.join(globs)}")
    return classify_site(tree, site, rules, pages, levels)


def site_name(config: Config) -> str:
    """Return the name of the docroot's directory."""
    return config.docroot.resolve().name if config.docroot else ""


def record(site: str, use: ImageLabel) -> dict[str, Any]:
    """Return a labelled image for JSON; ``path`` is null for an image outside the site and a missing one."""
    return {
        "site": site,
        "page": use.page,
        "ref": use.ref,
        "path": use.path,
        "kind": use.kind,
        "label": use.label.value,
        "score": use.score,
        "reasons": list(use.reasons),
    }


def _print_pages(images: Iterable[ImageLabel], invocation: Invocation) -> None:
    for page, uses in groupby(images, key=lambda use: use.page):
        rows = [[use.label.value, f"{use.score:+g}", use.ref.strip(), "; ".join(use.reasons)] for use in uses]
        lines = table(rows, right=(1,)).splitlines()
        print_text("\n".join([printable(page), *(f"  {line}" for line in lines)]), invocation)
