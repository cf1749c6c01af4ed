"""A warm session and the gate: updates leave what a clean build leaves, and nothing of an invalid file is published."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite, files_below

from adaptc.compile.engine.builder import Builder
from adaptc.compile.engine.reporting import Silent
from adaptc.compile.engine.session import NeedsFullBuild, Session
from adaptc.compile.engine.state.state import State
from adaptc.compile.engine.trees.gate import Gate, GatedPublisher, Pending
from adaptc.workflow.api import bring_up_to_date, engine_of

PAGE = (
    '<!DOCTYPE html>\n<html lang=en><title>{0}</title>\n<link rel=stylesheet href="{1}one.css">\n'
    '<p>  {0}\n<a href="{1}index.html">x</a>\n'
)
FILES: dict[str, str | bytes] = {
    "index.html": PAGE.format("start", ""),
    "a.html": PAGE.format("a", "") + "<p>more\n" * 30,
    "deep/b.html": PAGE.format("b", "../"),
    "one.css": '@import "two.css";\n' + ".a  {  color : #112233 }\n" * 5,
    "two.css": ".b  {  color : #445566 }\n" * 5,
    "note.txt": "a note  " * 40,
}


class Warm:
    """A site with a warm session."""

    def __init__(self, site: BuiltSite) -> None:
        self.site = site
        self.builder: Builder = engine_of(site.config(), Silent())
        self.lock = self.builder.lock()
        self.state = State(self.builder.spec.state_path)
        self.gate = Gate(self.builder.trees.publisher, self.builder.spec.state_path)
        self.builder.gate = self.gate
        self.session = Session(self.builder, self.state, bring_up_to_date(self.builder, self.state)[0])

    def invalidate(self, *paths: str) -> int:
        return self.gate.invalidate(paths)

    def update(self) -> set[str]:
        """Take a step; return what was built."""
        return {"/".join(unit) for unit in self.session.update(self.gate.drain()).reasons}

    def trees(self) -> dict[str, bytes]:
        """Return the trees alone: manifest and report are written when the watcher is idle."""
        return {path: content for path, content in self.site.trees().items() if "/" in path}

    def close(self) -> None:
        self.gate.close()
        self.state.close()
        self.lock.close()


@pytest.fixture
def warm(tmp_path: Path) -> Iterator[Warm]:
    made = Warm(BuiltSite(tmp_path).write(FILES))
    with contextlib.closing(made):
        yield made


def clean_trees(site: BuiltSite) -> dict[str, bytes]:
    clean = site.clean()
    clean.build()
    return {path: content for path, content in clean.trees().items() if "/" in path}


def test_one_page(warm: Warm) -> None:
    warm.site.write({"a.html": PAGE.format("changed", "")})
    assert warm.invalidate("a.html") == 2
    assert not (warm.site.output / "lossless/id/a.html").exists()
    assert warm.update() == {"full/a.html", "lossless/a.html"}
    assert b"changed" in warm.site.read("a.html")
    assert warm.trees() == clean_trees(warm.site)


def test_an_asset_takes_its_pages_along(warm: Warm) -> None:
    warm.site.write({"two.css": ".c  { color : red }\n"})
    warm.invalidate("two.css")
    gone = {
        path
        for path in ("index.html", "a.html", "deep/b.html")
        if not (warm.site.output / "lossless/id" / path).exists()
    }
    assert gone == {"index.html", "a.html", "deep/b.html"}
    assert (warm.site.output / "full/id/index.html").exists()
    warm.update()
    assert warm.trees() == clean_trees(warm.site)


def test_files_come_and_go(warm: Warm) -> None:
    warm.site.write({"new.html": PAGE.format("new", "")})
    warm.invalidate("new.html")
    assert warm.update() >= {"full/new.html", "lossless/new.html"}
    warm.site.remove("new.html")
    warm.site.remove("note.txt")
    warm.invalidate("new.html", "note.txt")
    warm.update()
    assert warm.trees() == clean_trees(warm.site)


def test_random_changes_leave_what_a_clean_build_leaves(warm: Warm) -> None:
    chosen = random.Random(5)
    for number in range(12):
        paths = chosen.sample(sorted([*FILES, "c.html", "deep/d.html"]), 2)
        for path in paths:
            if chosen.random() < 0.3 and (warm.site.docroot / path).exists() and path != "index.html":
                warm.site.remove(path)
            else:
                warm.site.write(
                    {path: str(FILES.get(path, PAGE.format("new", "../" if "/" in path else ""))) + f"/*{number}*/"}
                )
        warm.invalidate(*paths)
        warm.update()
    assert warm.trees() == clean_trees(warm.site)
    assert not warm.builder.run(warm.state).reasons  # and the state says so: there is nothing to do


def test_a_file_that_was_only_touched_is_built_again_from_the_cache(warm: Warm) -> None:
    before = warm.trees()
    warm.site.write({"a.html": FILES["a.html"]})
    warm.invalidate("a.html")
    assert warm.update() == {"full/a.html", "lossless/a.html"}
    assert warm.trees() == before


def test_links_come_with_the_file_that_they_lead_to(warm: Warm) -> None:
    (warm.site.docroot / "link.html").symlink_to("a.html")
    warm.invalidate("link.html")
    with pytest.raises(NeedsFullBuild, match=r"link.html is not a file that is sent as it is"):
        warm.update()
    warm.session = Session(warm.builder, warm.state, warm.builder.run(warm.state))
    warm.site.write({"a.html": PAGE.format("behind a link", "")})
    warm.invalidate("a.html", "link.html")
    assert warm.update() >= {"lossless/link.html", "full/link.html"}
    assert warm.trees() == clean_trees(warm.site)


@pytest.mark.parametrize("name", ["_headers", "deep/.htaccess"])
def test_other_header_fields_of_pages_need_a_full_build(warm: Warm, name: str) -> None:
    text = "/*\n  Content-Security-Policy: style-src 'self'\n" if name == "_headers" else "Header set Link '<x>'\n"
    warm.site.write({name: text})
    warm.invalidate("deep/b.html")
    with pytest.raises(NeedsFullBuild, match="header fields"):
        warm.update()


def test_a_text_that_fixes_the_bytes_of_a_file_takes_it_along(warm: Warm) -> None:
    digest = hashlib.sha1(str(FILES["two.css"]).encode()).hexdigest()
    warm.site.write({"note.txt": f"{digest}  two.css"})
    warm.invalidate("note.txt")
    assert warm.update() >= {"lossless/two.css", "lossless/note.txt"}
    assert warm.site.read("two.css") == str(FILES["two.css"]).encode()


def test_too_much_for_a_step(warm: Warm) -> None:
    files: dict[str, str | bytes] = {f"many/{number}.txt": "text" for number in range(30)}
    warm.site.write(files)
    warm.invalidate(*files)
    with pytest.raises(NeedsFullBuild, match="files must be built"):
        warm.update()
    assert not list(files_below(warm.site.output / "full/id/many"))


# ---- the gate


def test_what_changes_while_it_is_built_is_not_published(warm: Warm) -> None:
    warm.site.write({"one.css": ".d { color: blue }"})
    warm.invalidate("one.css")
    pending = warm.gate.drain()
    warm.invalidate("a.html")  # somebody saves it while the step runs
    done = warm.session.update(pending)
    assert done.refused
    for level in ("full", "lossless"):
        assert not (warm.site.output / level / "id/a.html").exists()
    assert warm.update() >= {"lossless/a.html"}
    assert warm.trees() == clean_trees(warm.site)


def test_what_is_published_and_not_committed_is_removed_too(warm: Warm, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Pending(frozenset({"a.html"}))
    warm.site.write({"a.html": PAGE.format("changed", "")})
    commit = GatedPublisher.commit

    def invalidate_before(gated_publisher: GatedPublisher, state: State) -> None:
        warm.invalidate("two.css")
        commit(gated_publisher, state)

    monkeypatch.setattr(GatedPublisher, "commit", invalidate_before)
    warm.session.update(made)
    assert not (warm.site.output / "lossless/id/a.html").exists()
    assert (warm.site.output / "full/id/a.html").exists()


def test_a_gate_gives_back_what_could_not_be_done(warm: Warm) -> None:
    pending = Pending(frozenset({"x"}), frozenset({("full", "y")}))
    warm.gate.requeue(pending)
    assert warm.gate.has_invalid_files
    assert warm.gate.drain() == pending
    assert not warm.gate.has_invalid_files
