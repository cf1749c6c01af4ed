"""The page of ``adaptc dashboard``: what it shows, and who may turn its knobs."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.samples.monitoring import FOLDER, expressions
from tests.servers import axe
from tests.servers.browser import Browser
from tests.servers.command import run_adaptc
from tests.sites.built import BuiltSite
from tests.waiting import PATIENCE, wait_until

from adaptc.daemons.dashboard import Dashboard, alert_rules, grafana_board, serve_dashboard
from adaptc.daemons.reporter import Audit, metrics
from adaptc.daemons.run_directory import RunDirectory, read_override

TOKEN = "a token"
SHARES = {"lossless": 0.75, "moderate": 0.25}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A site whose controller has just reported."""
    site = BuiltSite(tmp_path).write({"index.html": "<p>words</p>\n\n" * 99})
    site.build()
    made = RunDirectory.of(site.output)
    record = {"daemon": "control", "pid": 1, "at": time.time(), "interval": 60.0, "cpu": 0.62, "by": "cgroup"}
    made.write_json("control.json", {**record, "sites": {"shop": {"m": 1.25, "levels": SHARES}}})
    decision = {"rule": "<b>over</b> the bound", "inputs": {"U": 0.9}}
    Audit(made.path / "audit-control.jsonl").write(time.time(), "m 1.25", [decision])
    return made


@contextmanager
def served(run: RunDirectory, token: str | None = None) -> Iterator[int]:
    with serve_dashboard(Dashboard(run.path.parent, token), 0) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def ask(port: int, method: str, path: str, body: Any = None, **fields: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(method, path, None if body is None else json.dumps(body), fields)
    answer = connection.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if answer.headers.get_content_type() == "application/json" else text


def test_it_tells_the_status_and_the_last_decisions(run: RunDirectory) -> None:
    with served(run) as port:
        status, state = ask(port, "GET", "/state")
    assert status == 200
    assert (state["flag"], state["off"], state["override"], state["knobs"]) == (False, False, None, False)
    assert [daemon["daemon"] for daemon in state["daemons"]] == ["control"]
    assert [(one["event"], one["rule"]) for one in state["decisions"]] == [("m 1.25", "<b>over</b> the bound")]
    assert state["levels"][-2:] == ["original", "off"]
    assert state["built"] >= 0


def test_an_audit_that_is_cut_or_damaged_shows_what_it_has(run: RunDirectory) -> None:
    file = run.path / "audit-switch.jsonl"
    file.write_text(
        'rule": "cut"}\n[1]\n{"at": "x", "rule": 1}\n{"at": 1, "event": "optimized", "rule": "cpu"}\n{"at": 2,'
    )
    with served(run) as port:
        decisions = ask(port, "GET", "/state")[1]["decisions"]
    assert [one["event"] for one in decisions] == ["m 1.25", "optimized"]


def test_a_knob_needs_the_token(run: RunDirectory) -> None:
    wish = {"level": "lossless", "seconds": 60}
    with served(run) as port:
        assert ask(port, "POST", "/force", wish, Authorization="Bearer ")[0] == 403
    with served(run, TOKEN) as port:
        assert ask(port, "POST", "/force", wish)[0] == 403
        assert ask(port, "POST", "/force", wish, Authorization="Bearer wrong")[0] == 403
        assert read_override(run, time.time()) is None
        assert ask(port, "POST", "/force", wish, Authorization=f"Bearer {TOKEN}") == (
            200, {"said": "lossless for 60 s; adaptc auto ends it"},
        )  # fmt: skip
        override = read_override(run, time.time())
        assert override is not None and override.level == "lossless"
        assert ask(port, "POST", "/auto", {}, Authorization=f"Bearer {TOKEN}") == (200, {"said": "automatic again"})
        assert read_override(run, time.time()) is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"level": "losless", "seconds": 60}, "has no level losless"),
        ({"level": "lossless"}, "a level and seconds"),
        ({"level": "lossless", "seconds": 0}, "a second to 30 days"),
        ([], "a level and seconds"),
        ({"level": "lossless", "seconds": float("nan")}, "a second to 30 days"),
    ],
)
def test_a_wish_that_cannot_be_met_is_explained(run: RunDirectory, body: Any, said: str) -> None:
    with served(run, TOKEN) as port:
        status, answer = ask(port, "POST", "/force", body, Authorization=f"Bearer {TOKEN}")
    assert status == 400
    assert said in answer["error"]


def test_another_name_of_this_address_shows_nothing(run: RunDirectory) -> None:
    """A page of elsewhere may have its own name lead to 127.0.0.1 (DNS rebinding)."""
    with served(run, TOKEN) as port:
        for name in ("evil.example", "127.0.0.1.evil.example", "[", ""):
            assert ask(port, "GET", "/state", Host=name)[0] == 403
        assert ask(port, "POST", "/auto", {}, Host="evil.example", Authorization=f"Bearer {TOKEN}")[0] == 404
        assert ask(port, "GET", "/../manifest.json")[0] == 404


@pytest.mark.chromium
def test_the_page_in_a_browser(run: RunDirectory, browser: Browser) -> None:
    with served(run, TOKEN) as port:
        browser.call("Page.navigate", url=f"http://127.0.0.1:{port}/")
        text = "document.body.innerText"
        wait_until(lambda: "adaptc control: works" in str(browser.evaluate(text)))
        shown = str(browser.evaluate(text))
        assert "The server sends the original" in shown
        assert "lossless 75 %" in shown
        assert "<b>over</b> the bound (U 0.9)" in shown  # texts of the audit are no markup
        browser.evaluate(
            f"document.querySelector('#token').value = {TOKEN!r}; document.querySelector('#level').value = 'lossless';"
            "document.querySelector('#knobs').requestSubmit()"
        )
        wait_until(lambda: "lossless is forced for another" in str(browser.evaluate(text)))
        for width in (axe.PHONE, axe.LAPTOP):
            assert axe.violations(browser, f"http://127.0.0.1:{port}/", width, "dark") == []


# ---- Grafana, Prometheus, the terminal


def test_the_board_and_the_alerts_are_those_of_the_list() -> None:
    """Each alert and panel names a figure of the list, and the examples are what is printed."""
    known = {f"adaptc_{row['daemon']}_{row['name']}" for row in metrics()["metric"]}
    named = re.findall(r"\badaptc_[a-z]+_\w+", " ".join(expressions()))
    assert set(named) <= known
    assert json.loads((FOLDER / "dashboard.json").read_text()) == grafana_board()
    assert (FOLDER / "alerts.yml").read_text() == alert_rules()


def test_top_shows_the_status_and_the_reasons(run: RunDirectory) -> None:
    done = run_adaptc("top", "-o", run.path.parent)
    assert done.returncode == 0
    assert "control  works" in done.stdout
    assert "<b>over</b> the bound" in done.stdout
