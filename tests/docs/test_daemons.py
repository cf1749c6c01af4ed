"""docs/daemons.md and the settings of the daemons say the same."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.places import DOCS, ROOT

from adaptc.config.schema import Check
from adaptc.config.toml import parse_toml
from adaptc.daemons.classify import settings as classify
from adaptc.daemons.classify.tables import WRITERS
from adaptc.daemons.control import settings as control
from adaptc.daemons.switch import settings as switch
from benchmarks.crowd_matrix import table

PAGE = (DOCS / "daemons.md").read_text("utf-8")

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
