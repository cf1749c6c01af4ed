"""A site whose access log says which pages are popular."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.samples.access_logs import write_log
from tests.sites.built import BuiltSite

import adaptc
from adaptc.workflow.configuration import load_config

WORDS = "<p>Some words of the page, and some more of them.</p>\n" * 9
LEVEL = '[levels.words]\nextends = "lossless"\nnumber = 2\npromise = "words"\n'
PAGES = ("a.html", "b.html", "c.html")


class PopularSite(BuiltSite):
    """A site of three pages and a sheet, with a degraded level and a log."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.write(dict.fromkeys(PAGES, f"<!DOCTYPE html><title>t</title><link rel=stylesheet href=s.css>{WORDS}"))
        self.write({"s.css": ".a  { color : red }" + "/* words */" * 99})
        self.log, self.file = root / "access.log", root / "adaptc.toml"
        self.see({"/a.html": 7, "/b.html": 2, "/c.html": 1, "/s.css": 99})

    def see(self, views: dict[str, int]) -> None:
        write_log(self.log, views)

    def config(self, **overrides: Any) -> adaptc.Config:
        select = overrides.pop("select", f'[select]\nlogs = ["{self.log.name}"]\n')
        self.file.write_text(f'{select}[build]\nlevels = ["full", "lossless", "words"]\n{LEVEL}')
        chosen = {"docroot": self.docroot, "output": self.output, "build.effort": "fast", "build.jobs": 1}
        return load_config(self.file, chosen | {key.replace("__", "."): value for key, value in overrides.items()})

    def has(self, level: str) -> list[str]:
        """Return the pages that a level has."""
        return [path for path in PAGES if (self.output / level / "id" / path).exists()]
