"""``adaptc classify-images``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sites.decorated import flat

from adaptc.cli.command import ExitCode
from adaptc.cli.main import run


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "docs"
    (folder / "blog").mkdir(parents=True)
    (folder / "index.html").write_text("<p><img src=dot.png alt=''> Words")
    (folder / "blog/one.html").write_text("<p><img src=' ../dot.png' data-adapt='keep moderate' alt=''> Words")
    (folder / "dot.png").write_bytes(flat(9, 9))
    return folder


def test_one_json_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["classify-images", "docs", "--format", "jsonl"]) is ExitCode.DONE
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["page"] for one in records] == ["blog/one.html", "index.html"]
    assert list(records[0]) == ["site", "page", "ref", "path", "kind", "label", "score", "reasons"]
    assert records[0]["ref"] == " ../dot.png"
    assert {(one["site"], one["path"], one["kind"], one["label"]) for one in records} == {
        ("docs", "dot.png", "img", "decoration")
    }


def test_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--format", "json", "classify-images", "docs"]) is ExitCode.DONE
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_text_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["classify-images", "docs", "--page", "index*"]) is ExitCode.DONE
    page, image = capsys.readouterr().out.splitlines()
    assert page == "index.html"
    assert image.split()[0] == "decoration"
    assert "9x9 px" in image


def test_pages_levels_and_rules(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def label(*options: str) -> str:
        assert run(["classify-images", "docs", "--format=jsonl", "--page=blog/*", *options]) is ExitCode.DONE
        (line,) = capsys.readouterr().out.splitlines()
        return str(json.loads(line)["label"])

    assert label() == "decoration"
    assert label("--level=moderate") == "content"
    assert label("--level=unhydrated") == "content"
    (tmp_path / "own.toml").write_text("[[keep]]\nurl = 'dot.*'\n")
    assert label("--rules=own.toml") == "content"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "there is no directory nowhere"),
        ([], "name the DOCROOT"),
        (["docs", "--page", "x*"], "no page matches x*"),
        (["docs", "--level", "moderat"], "there is no level moderat, did you mean moderate?"),
        (["docs", "--rules", "none.toml"], "none.toml: cannot be read"),
    ],
)
def test_mistakes(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["classify-images", *arguments]) is ExitCode.USAGE
    assert complaint in capsys.readouterr().err
