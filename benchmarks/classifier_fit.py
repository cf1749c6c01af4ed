"""Whether fitted weights would label images better than those of rules/decorations.toml, on sites that were left out.

A logistic regression on the signs of each use (the same as those of the rules), with a Gaussian prior around zero, or
around the weights of the rules: fitted for each site on all other sites, and asked about the site that was left out.
A reference with two readings of which one may be left out counts a third. Logos and advertisements stay those of the
rules. Arguments as of ``classifier.py``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from adaptc.compile.analyse.decorations.rules import load_decoration_rules
from benchmarks.classifier import STRIPPED, Judged, judged, print_kinds, read_labels, strip

SCALE = 0.6  # log odds of a point of the rules, as fitted on all sites
STRENGTHS = (1.0, 3.0, 10.0)
ODDS = (0.0, 0.7, 1.4)  # log odds from which an image counts as decoration
SHARE = 12  # references of a site that count in full; of more, each counts less


def matrix(uses: list[Judged], names: list[str]) -> np.ndarray:
    columns = {name: column for column, name in enumerate(names)}
    values = np.zeros((len(uses), len(names) + 1))
    values[:, -1] = 1
    for row, use in enumerate(uses):
        values[row, [columns[name] for name in use.signs]] = 1
    return values


def targets(uses: list[Judged]) -> tuple[np.ndarray, np.ndarray]:
    """Return what each use should be, 0 to 1, and how much it counts."""
    counts = Counter(use.site for use in uses)
    wanted, weights = [], []
    for use in uses:
        is_open = not use.right <= STRIPPED and not use.right.isdisjoint(STRIPPED)
        wanted.append((0.7 if use.label in STRIPPED else 0.3) if is_open else float(use.label in STRIPPED))
        weights.append((0.3 if is_open else 1.0) * min(1.0, SHARE / counts[use.site]) ** 0.5)
    return np.array(wanted), np.array(weights)


def fit(values: np.ndarray, wanted: np.ndarray, weights: np.ndarray, prior: np.ndarray, strength: float) -> np.ndarray:
    """Return the weights of greatest posterior probability, by Newton's method."""
    penalty = np.full(len(prior), strength)
    penalty[-1] = 0.2 * strength
    fitted = prior.copy()
    for _ in range(60):
        chance = 1 / (1 + np.exp(-values @ fitted))
        gradient = values.T @ (weights * (chance - wanted)) + penalty * (fitted - prior)
        curvature = (values.T * (weights * chance * (1 - chance))) @ values + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        fitted = fitted - np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-6:
            break
    return fitted


def left_out(uses: list[Judged], names: list[str], prior: np.ndarray, strength: float) -> list[Judged]:
    """Return the uses with the scores, in log odds, of a model that did not see their site."""
    values, (wanted, weights) = matrix(uses, names), targets(uses)
    sites = np.array([use.site for use in uses])
    is_asked = np.array([use.said not in ("logo", "ad", "missing") for use in uses])
    scores = np.zeros(len(uses))
    for site in set(sites):
        others = (sites != site) & is_asked
        scores[sites == site] = values[sites == site] @ fit(
            values[others], wanted[others], weights[others], prior, strength
        )
    return [replace(use, score=float(score)) for use, score in zip(uses, scores, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--also", nargs=2, type=Path, action="append", default=[], metavar=("LABELS", "CORPORA"))
    arguments = parser.parse_args()
    sets = [(arguments.labels, arguments.corpora), *arguments.also]
    uses = [use for path, corpora in sets for use in judged(read_labels(path), corpora, None) if use.said != "missing"]
    question = load_decoration_rules().questions["decoration"]
    names = sorted({name for use in uses for name in use.signs} | set(question.weights))
    written = np.array([*(question.weights.get(name, 0) for name in names), 0.5 - question.threshold])
    print(f"the rules: {strip(uses)}")
    print_kinds(uses)
    for title, prior in (("zero", np.zeros_like(written)), ("the rules", SCALE * written)):
        for strength in STRENGTHS:
            judgements = left_out(uses, names, prior, strength)
            for odds in ODDS:
                print(f"around {title}, strength {strength:g}, odds {odds}: {strip(judgements, odds or 1e-9)}")


if __name__ == "__main__":
    main()
