"""``adaptc capacity``: the ladder of a build or of the command line, as text and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run
from adaptc.report.manifest import Manifest
from adaptc.serve.calibrate.profile import profile_of, write_profile
from adaptc.serve.capacity.queueing import solve_closed, solve_mixed
from adaptc.serve.capacity.rungs import Rung, ladder_names, ladder_of, weakness
from adaptc.serve.capacity.utilization import Cost

PAPER = ["--level", "regular=59,322", "--level", "moderate=29,188", "--level", "extreme=3,65"]


def record(capsys: pytest.CaptureFixture[str], *arguments: str, view: str = "0") -> dict:
    """Return the record by the paper's formulas, which have no cost of a page view, or with one."""
    assert run(["capacity", "--format", "json", "--view-ms", view, *arguments]) == ExitCode.DONE
    return json.loads(capsys.readouterr().out)


def test_the_ladder_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    found = record(capsys, *PAPER)
    assert [level["page_ms"] for level in found["levels"]] == [59.596, 30.274, 4.635]
    assert [level["factor"] for level in found["levels"]] == [1, 1.9686, 12.8578]
    assert found["levels"][0]["pages_per_second"] == pytest.approx(0.58 / 0.059596, abs=1e-3)


def test_a_page_view_has_a_cost_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    levels = record(capsys, *PAPER, view="2")["levels"]
    assert [level["page_ms"] for level in levels] == [61.596, 32.274, 6.635]
    assert levels[2]["factor"] == pytest.approx(61.596 / 6.635, abs=1e-4)


def test_a_load_is_carried_by_a_mixture(capsys: pytest.CaptureFixture[str]) -> None:
    load = record(capsys, *PAPER, "--load", "15")["load"]
    share = load["m"] - 2
    assert share * 15 * 0.059596 + (1 - share) * 15 * 0.030274 == pytest.approx(0.58, abs=1e-4)
    assert load["mixture"] == {"regular": round(share, 4), "moderate": round(1 - share, 4)}
    assert [level["utilization"] for level in load["levels"]] == [0.8939, 0.4541, 0.0695]


@pytest.mark.parametrize(("load", "m", "names"), [("1", 3, {"regular"}), ("2000", 0, {"reject"})])
def test_the_ends_of_the_ladder(capsys: pytest.CaptureFixture[str], load: str, m: float, names: set[str]) -> None:
    found = record(capsys, *PAPER, "--load", load)["load"]
    assert (found["m"], set(found["mixture"])) == (m, names)


def test_rejection_carries_what_the_lowest_level_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    found = record(capsys, *PAPER, "--load", "200", "--rejection-ms", "0.55")["load"]
    assert found["m"] * 200 * 0.004635 + (1 - found["m"]) * 200 * 0.00055 == pytest.approx(0.58, abs=1e-3)


def test_a_rejection_that_nobody_measured_takes_a_request_and_its_connection(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert record(capsys, *PAPER, "--request-ms", "2", view="1")["rejection_ms"] == 3


# ---- users: closed, mixed and proxy networks

ONE = ["--level", "page=1,10.24", "--request-ms", "40", "--kilobyte-ms", "1e-9"]


def users(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict]:
    return record(capsys, *ONE, *arguments)["users"]["levels"]


def test_users_are_a_closed_network(capsys: pytest.CaptureFixture[str]) -> None:
    [found] = users(capsys, "--users", "2", "--think", "1", "--level", "page=1,31.25", "--line", "1")[1:]
    expected = solve_closed(2, 1, (0.04, 0.25))
    assert found["pages_per_second"] == pytest.approx(expected.throughput, abs=1e-4)
    assert found["line_ms"] == pytest.approx(1000 * expected.times[1], abs=1e-3)
    assert found["utilization"] == pytest.approx(expected.throughput * 0.04, abs=1e-4)


def test_others_make_it_a_mixed_network(capsys: pytest.CaptureFixture[str]) -> None:
    [found] = users(capsys, "--users", "10", "--think", "1", "--load", "4")
    expected = solve_mixed(10, 1, (0.04,), 4, (0.04,))
    assert found["pages_per_second"] == pytest.approx(expected.closed.throughput, abs=1e-4)
    assert found["others_ms"] == pytest.approx(1000 * expected.open_times[0], abs=1e-3)
    [found] = users(capsys, "--users", "10", "--load", "25")
    assert found == {"level": "page", "hit_ratio": None, "utilization": None}  # they alone take all of it


def test_figure_12_for_documents_that_cross_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Published: at 1.5 Mb/s the delay hardly depends on the hit ratio."""
    arguments = ["--users", "10", "--think", "1", "--line", "1.5", "--workers", "16"]
    ratios = [word for ratio in ("0", "0.5", "0.9") for word in ("--hit-ratio", ratio)]
    found = users(capsys, *arguments, *ratios)
    assert [round(entry["line_of_a_miss_ms"]) for entry in found] == [83, 69, 57]
    assert [round(entry["line_ms"]) for entry in found] == [83, 34, 6]


def test_a_document_of_several_objects_takes_its_work_and_two_ways(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--users", "1", "--think", "1", "--line", "1.5", "--hit-ratio", "0", "--level", "five=5,51.2"]
    one, five = users(capsys, *command)
    assert five["proxy_ms"] == pytest.approx(5 * one["proxy_ms"], rel=1e-4)
    assert five["line_ms"] == pytest.approx(5 * one["line_ms"], rel=1e-4)
    assert 1 / five["pages_per_second"] == pytest.approx(
        1 + 2 * 0.195 + (five["proxy_ms"] + five["line_ms"] + five["server_ms"]) / 1000, rel=1e-3
    )


def test_users_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["capacity", *PAPER, "--users", "100", "--line", "10", "--hit-ratio", "0.5", "--load", "3"]
    assert run(command) == ExitCode.DONE
    text = capsys.readouterr().out
    assert "100 users load a page every 10 s after the last one, and others load 3 pages a second; a page:" in text
    assert "of a miss" in text


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--think", "1"], "--think needs --users"),
        (["--users", "1", "--hit-ratio", "0.5"], "--hit-ratio needs --line"),
        (["--users", "1", "--backbone", "1"], "--backbone needs --hit-ratio"),
    ],
)
def test_options_of_users_that_need_others(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["capacity", *PAPER, *options]) == ExitCode.USAGE
    assert complaint in capsys.readouterr().err


def test_text_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capacity", *PAPER, "--view-ms", "0", "--load", "15", "--line", "5"]) == ExitCode.DONE
    text = capsys.readouterr().out
    assert "regular       59.0  322.0      59.60              9.7    1.00" in text
    assert "m = 2.29 keeps the bound: 29% regular, 71% moderate" in text
    assert run(["capacity", *PAPER, "--view-ms", "0", "--load", "5000"]) == ExitCode.DONE
    assert "no mixture keeps the bound, not even a rejection of all" in capsys.readouterr().out
    assert "-" in text.split("regular")[2]  # a line of 5 Mb/s cannot carry it: no steady state


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("regular", "--level regular: write NAME=REQUESTS,KB, such as regular=59,322"),
        ("a=0,1", "--level a=0,1: a page takes at least a request, and its kilobytes are not negative"),
    ],
)
def test_a_level_that_is_none(capsys: pytest.CaptureFixture[str], text: str, complaint: str) -> None:
    assert run(["capacity", "--level", text]) == ExitCode.USAGE
    assert complaint in capsys.readouterr().err


def page(requests: int, octets: int) -> dict[str, int]:
    return {"requests": requests, "bytes": octets, "transfer": octets}


MANIFEST = {
    "schema": 1,
    "levels": [
        {
            "name": "full",
            "number": 4,
            "title": "",
            "pages": 2,
            "mean": {"requests": 3, "bytes": 9000, "transfer": 2900},
        },
        {
            "name": "lossless",
            "number": 3,
            "title": "",
            "pages": 2,
            "mean": {"requests": 2, "bytes": 8000, "transfer": 900},
        },
        {
            "name": "halfres",
            "number": None,
            "title": "",
            "pages": 2,
            "mean": {"requests": 2, "bytes": 1000, "transfer": 900},
        },
    ],
    "resources": [
        {
            "path": "a",
            "media_type": "text/html",
            "source": {"size": 13_000, "sha256": None},
            "levels": {"full": {"files": {}, "page": page(8, 20_000)}},
        },
        {
            "path": "b",
            "media_type": "text/html",
            "source": {"size": 1000, "sha256": None},
            "levels": {"full": {"files": {}, "page": page(1, 1000)}},
        },
        {
            "path": "c",
            "media_type": "text/html",
            "source": {"size": 1000, "sha256": None},
            "levels": {"full": {"files": {}, "page": page(1, 1000)}},
        },
        {
            "path": "d",
            "media_type": "text/html",
            "source": {"size": 500, "sha256": None},
            "levels": {"full": {"files": {}}},
        },
        {"path": "e", "media_type": "text/html", "source": {"size": 500, "sha256": None}, "levels": {}},
    ],
}


def test_the_ladder_of_a_manifest_has_no_levels_beside_it() -> None:
    full, lossless = ladder_of(Manifest(Path("manifest.json"), MANIFEST))
    assert (full.name, full.requests, full.kilobytes) == ("full", 3, 2.9)
    assert (lossless.name, lossless.requests, lossless.kilobytes) == ("lossless", 2, 0.9)


def test_the_output_of_a_build_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    found = record(capsys, "-o", str(tmp_path), "--request-ms", "1", "--kilobyte-ms", "1")
    assert [(level["level"], level["page_ms"]) for level in found["levels"]] == [("full", 5.9), ("lossless", 2.9)]


@pytest.mark.parametrize(("server", "rate"), [("nginx/1.22.1", 203), ("Apache/2.4.62", None)])
def test_a_calibrated_nginx_has_a_page_rate_whatever_the_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], server: str, rate: int | None
) -> None:
    """1.2 times what it carries of the first level with all its time: a page takes 2 * 1 + 2 * 1.95 ms of two CPUs."""
    write_profile(
        profile_of(server, {"http1": Cost(0.002, 0.002, 0, 0)}, {}, None, (), None, 1), file := tmp_path / "cost.json"
    )
    given = ["--level", "full=1,1.95", "--level", "text=1,.1", "--profile", str(file)]
    for bound in ("0.58", "0.9"):
        assert record(capsys, *given, "--bound", bound).get("nginx_page_rate") == rate
    assert run(["capacity", *given]) == ExitCode.DONE
    assert ("serve.nginx_page_rate = 203" in capsys.readouterr().out) == bool(rate)
    assert "nginx_page_rate" not in record(capsys, *given[:4])  # the costs are assumed


def test_a_real_build_has_a_ladder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<!DOCTYPE html><title>t</title><p>words" + " and words" * 500)
    assert run(["build", str(site), "-o", str(tmp_path / "opt"), "--level", "full", "-q"]) == ExitCode.DONE
    capsys.readouterr()
    found = record(capsys, "-o", str(tmp_path / "opt"), "--clients")
    assert [(level["level"], level["requests"]) for level in found["levels"]] == [("full", 1)]
    assert found["clients"]["pages"] == {"S-S-S": {"percent": 100, "paper": 20}}


def test_a_rule_refuses_more_connections_than_the_lowest_level_carries(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["capacity", *PAPER, "--view-ms", "0", "--nftables", "80,443"]) == ExitCode.DONE
    text = capsys.readouterr().out
    assert "that level extreme carries" in text
    assert "tcp dport { 80,443 }" in text
    assert f"limit rate over {int(0.58 / 0.004635)}/second" in text
    rule = record(capsys, *PAPER, "--nftables", "80,443")
    assert (rule["level"], rule["connections_per_second"]) == ("extreme", int(0.58 / 0.004635))
    assert rule["text"] in text
    assert rule["costs"] == "assumed, of [cost]: run adaptc calibrate first"
    assert record(capsys, *PAPER, "--request-ms", "1", "--kilobyte-ms", "1", "--nftables", "80")["costs"] == "given"
    for mistake in ("80;drop", "0", "http", ""):
        assert run(["capacity", *PAPER, "--nftables", mistake]) == ExitCode.USAGE
    assert "is no list of ports" in capsys.readouterr().err


def test_what_actions_save_clients(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    clients = record(capsys, "-o", str(tmp_path), "--clients")["clients"]
    assert clients["saved_percent"]["modem-att"]["halfobject"] == 35.1
    assert clients["pages"] == {
        "S-S-S": {"percent": 66.7, "paper": 20},
        "M-M-S": {"percent": 33.3, "paper": 3},
    }
    assert run(["capacity", "-o", str(tmp_path), "--clients"]) == ExitCode.DONE
    text = capsys.readouterr().out
    assert "modem-att         11.73       6.6   5.3    14.9         18      82.9        35.1     26.3" in text
    assert "S-S-S   66.7     20" in text
    assert "pages" not in record(capsys, *PAPER, "--clients")["clients"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "build the site first, or give levels with --level"),
        ("{", "is not a manifest of this version of adaptc"),
        (
            '{"schema": 9, "levels": [{"name": "full", "number": 1, "pages": 1}], "resources": []}',
            "has schema 9, not 1",
        ),
        ('{"schema": 1, "levels": [], "resources": []}', "has no pages"),
    ],
)
def test_outputs_that_say_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, complaint: str
) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    assert run(["capacity", "-o", str(tmp_path)]) == ExitCode.USAGE
    assert complaint in capsys.readouterr().err


def test_text_is_the_last_rung_and_levels_beside_the_ladder_are_none() -> None:
    assert ladder_names({"web": None, "text": None, "extreme": 1, "full": 5}) == ("full", "extreme", "text")


def test_levels_that_carry_hardly_more_visitors_are_said_to() -> None:
    ladder = [Rung("full", 20, 300), Rung("lossless", 18, 250), Rung("text", 1, 3)]
    assert weakness(ladder, ("full", "lossless")).startswith("the lowest level in reach, lossless, carries 1.2 times")
    assert weakness(ladder, ("full", "lossless", "text")) == weakness([], ("full",)) == ""
