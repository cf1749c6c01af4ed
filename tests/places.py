"""Where the repository keeps what tests read, wherever a test lies."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
DATA = TESTS / "data"
ROOT = TESTS.parent
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
NEWSROOM = EXAMPLES / "newsroom/site"
