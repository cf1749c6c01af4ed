"""docs/daemons.md and the settings of the daemons say the same."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.places import DOCS, ROOT

from adaptc.config.schema import Check
from adaptc.config.toml import parse_toml
from adaptc.daemons.classify import settings as classify
from adaptc.daemons.classify.tables import WRITERS
from adaptc.daemons.control import settings as control
from adaptc.daemons.switch import settings as switch
from benchmarks.crowd_matrix import table

PAGE, CROWD = ((DOCS / name).read_text("utf-8") for name in ("daemons.md", "crowd.md"))

KINDS = [
    ("switch", switch.SwitchSettings, switch.CHECKS),
    ("classify", classify.ClassifySettings, classify.CHECKS),
    ("control", control.ControlSettings, control.CHECKS),
]


@pytest.mark.parametrize(("name", "kind", "checks"), KINDS, ids=[name for name, *_ in KINDS])
def test_every_setting_is_documented_with_its_default_and_no_other(
    name: str, kind: type, checks: Mapping[str, Check]
) -> None:
    section = PAGE.partition(f"## [daemons.{name}]")[2].partition("\n## ")[0].partition("| form |")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (`[^|]+`|none) \|", section, re.MULTILINE))
    defaults = dataclasses.asdict(kind())
    limits: dict[str, float] = defaults.pop("limits", {})  # a sensor without a limit has "none"
    defaults |= {name: None if limit == math.inf else limit for name, limit in limits.items()}
    assert sorted(rows) == sorted(defaults) == sorted(checks)
    assert {key: documented(written, checks[key]) for key, written in rows.items()} == defaults


def documented(written: str, check: Check) -> object:
    """The default in a row; "none", and what stands for nothing in a text or a list, is no value that one may write."""
    nothing: dict[str, object] = {"none": None, '`""`': "", "`[]`": ()}
    if written in nothing:
        return nothing[written]
    return check(parse_toml(f"key = {written.strip('`')}", written).values["key"], Path())


def test_the_forms_of_the_table_are_documented() -> None:
    section = PAGE.partition("| form | file | for |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(WRITERS)


def test_the_settings_of_a_site_stand_in_the_example() -> None:
    section = PAGE.partition("## [daemons.control]")[2]
    example = re.search(r"```toml\n(.*?)```", section, re.DOTALL)
    assert example is not None
    source = parse_toml(example[1], "example").below("daemons").below("control")
    _, sites = control.read_control(source, ())
    assert sites["shop"].guarantee is not None
    assert sites["blog"].priority == 2
    assert {field.name for field in dataclasses.fields(control.SiteSettings)} == set(control.SITE_CHECKS)


def test_rows_of_the_crowd_are_those_of_their_records() -> None:
    """Every row has records, and is computed from them: ``python -m benchmarks.crowd_matrix --table``."""
    records = (ROOT / "benchmarks/crowd_matrix.jsonl").read_text().splitlines()
    _, _, after = PAGE.partition("## Measured in a crowd")
    assert [line for line in after.splitlines() if re.match(r"\| (nginx|apache), ", line)] == list(table(records))


def test_what_is_said_of_the_rows_is_what_their_records_say() -> None:
    records = [json.loads(line) for line in (ROOT / "benchmarks/crowd_matrix.jsonl").read_text().splitlines()]
    text = " ".join(PAGE.partition("## Measured in a crowd")[2].split())

    def found(server: str, *rows: str) -> list[tuple[float, float]]:
        known = [one for one in records if one["server"] == server and one["row"] in rows and one["daemon"]]
        return [tuple(one["state"]["m"]) for one in known]

    def swing(server: str, row: str) -> str:
        return f"{max(most - least for least, most in found(server, row)):.2f}"

    def least(server: str, *rows: str) -> str:
        return f"{math.floor(10 * min(low for low, _ in found(server, *rows))) / 10:.1f}"

    noisy, constant = (tuple(swing(server, row) for server in ("nginx", "apache")) for row in ("noisy8", "constant10"))
    assert f"in the 90 s m stayed within {noisy[0]} of a level with nginx and {noisy[1]} with Apache (three" in text
    assert f"at 0.8 times without them within {swing('apache', 'steady8')} with Apache (four runs)" in text
    assert f"m stayed within {constant[0]} of a level with nginx and {constant[1]} with Apache (two runs each" in text
    after = f"at {least('nginx', 'flash20')} of 5 or above from the fifteenth second on with nginx"
    assert f"{after}, at {least('apache', 'flash20-door')} or above with Apache and that rule" in text
    assert f"and at {least('apache', 'flash20')} or above without it" in text
    assert len(found("nginx", "noisy8")) == len(found("apache", "noisy8")) == 3
    assert len(found("apache", "steady8")) == 4
    with_rule = [one["phases"][1] for one in records if one["row"] == "flash20-door"]
    served = f"{min(one['served/s'] for one in with_rule):.0f} to {max(one['served/s'] for one in with_rule):.0f}"
    late = f"95 % of them within {max(one['p95_s'] for one in with_rule):.1f} s"
    assert f"served {served} views a second in place of 5, {late} in place of 8" in " ".join(CROWD.split())


def test_what_is_said_of_twenty_times_is_what_its_records_say() -> None:
    records = [json.loads(line) for line in (ROOT / "benchmarks/crowd_matrix.jsonl").read_text().splitlines()]
    text, door = (" ".join(page.split()) for page in (PAGE, CROWD))

    def ends(runs: list[dict[str, Any]], key: str, places: int = 0) -> str:
        values = [run[key] for run in runs]
        return f"{min(values):.{places}f} to {max(values):.{places}f}"

    names = ("flash20", "flash20-paced", "flash20-accept")
    rows = {name: [one["phases"][1] for one in records if one["row"] == name and one["server"] == "nginx" and
                   one["daemon"]] for name in names}  # fmt: skip
    assert [len(rows[name]) for name in names[:2]] == [5, 5]
    for name, words in (("flash20", "In five runs it served"), ("flash20-paced", "with `serve.nginx_page_rate`")):
        runs = rows[name]
        said = f"{words} {ends(runs, 'served/s')} of {ends(runs, 'views/s')} views a second, 95 % of them within"
        assert f"{said} {ends(runs, 'p95_s', 1)} s" in text
    with_it, without = ends(rows["flash20"], "p95_s", 1), ends(rows["flash20-accept"], "p95_s", 1)
    assert f"with it 95 % of the views in a crowd of twenty times took {with_it} s, without it {without})" in door
