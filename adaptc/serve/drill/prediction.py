"""What a lever should cost, by the profile of the server and the sizes of the build."""

from __future__ import annotations

from dataclasses import dataclass

from adaptc.serve.calibrate.page_views import PageView
from adaptc.serve.calibrate.profile import Profile
from adaptc.serve.drill.expectation import Expectation
from adaptc.serve.drill.levers import Lever
from adaptc.serve.policy import REJECT
from adaptc.serve.verify.negotiation import OFF


@dataclass(frozen=True, slots=True)
class Prediction:
    """CPU milliseconds and kB of a view; None where they are not known."""

    cpu_ms: float | None
    kilobytes: float | None


def predict(expectation: Expectation, lever: Lever, profile: Profile | None) -> Prediction:
    """Return the prediction of a lever: the mean of the levels that its clients get in equal shares.

    While modes are switched, the shares are not known. Without a profile only kB are predicted.
    """
    if lever.is_switching:
        return Prediction(None, None)
    trees = expectation.trees(lever)
    parts = [_of_tree(expectation, tree, profile) for tree in trees]
    costs = [part.cpu_ms for part in parts if part.cpu_ms is not None]
    cpu = sum(costs) / len(costs) if len(costs) == len(parts) else None
    return Prediction(cpu, sum(part.kilobytes or 0.0 for part in parts) / len(parts))


def _of_tree(expectation: Expectation, tree: str, profile: Profile | None) -> Prediction:
    if tree == REJECT:
        return Prediction(profile.rejection_ms if profile is not None else None, 0.0)
    views = expectation.page_views(tree)
    requests = sum(len(view.paths) for view in views) / len(views)
    if tree == OFF:
        kilobytes = sum(_original_kilobytes(expectation, view) for view in views) / len(views)
        return Prediction(_off_ms(profile, requests, kilobytes), kilobytes)
    kilobytes = sum(view.kilobytes for view in views) / len(views)
    return Prediction(1000 * profile.cost().of_view(requests, kilobytes) if profile is not None else None, kilobytes)


def _original_kilobytes(expectation: Expectation, view: PageView) -> float:
    resources = expectation.manifest.resources
    return sum(resources[path].size for path in view.paths if path in resources) / 1000


def _off_ms(profile: Profile | None, requests: float, kilobytes: float) -> float | None:
    """Return the cost of a view while nothing is adapted: p, and requests and kilobytes of originals."""
    if profile is None or "off" not in profile.kinds:
        return None
    off = profile.kinds["off"]
    return 1000 * profile.cost().view + off["request_ms"] * requests + off["kilobyte_ms"] * kilobytes
