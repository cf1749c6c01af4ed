"""The metrics that the dashboard and the alert rules of examples/deploy/monitoring name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tests.places import EXAMPLES

FOLDER = EXAMPLES / "deploy/monitoring"


def expressions() -> Iterator[str]:
    """Yield all expressions of Prometheus."""
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    yield from (target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ()))
    alerts = yaml.safe_load((FOLDER / "alerts.yml").read_text())
    yield from (rule["expr"] for group in alerts["groups"] for rule in group["rules"])


def unknown_metrics(daemon: str, figures: Mapping[str, Any]) -> set[str]:
    """Return the metrics of a daemon that are named and that it does not export."""
    named = set(re.findall(rf"\badaptc_{daemon}_(\w+)", " ".join(expressions())))
    assert named
    return named - {name.partition("{")[0] for name in figures}
