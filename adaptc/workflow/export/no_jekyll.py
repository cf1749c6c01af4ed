"""The file that keeps Jekyll from an export.

GitHub Pages runs Jekyll on a branch that it publishes, and Jekyll leaves out what begins with ``_``, such as the
directory of copies of images and fonts, unless there is a file ``.nojekyll``.
"""

from __future__ import annotations

from pathlib import Path

from adaptc.compile.engine.store import Store
from adaptc.workflow.export.destination import ExportRecord, Item

NO_JEKYLL = ".nojekyll"
# A site with this file asks for Jekyll
_CONFIGURATION = "_config.yml"


def without_jekyll(items: list[Item], store: Store, target: Path, record: ExportRecord) -> list[Item]:
    """Return the items of an export to ``target`` with an empty ``.nojekyll`` if Jekyll would leave out any of them.

    One that somebody put there stays.
    """
    paths = {item.path for item in items}
    is_there = (target / NO_JEKYLL).exists() and NO_JEKYLL not in (record.read() or ())
    if is_there or not any(path.startswith("_") for path in paths) or paths & {NO_JEKYLL, _CONFIGURATION}:
        return items
    file = Path(store.object_path(store.put(b"")))
    return [Item(NO_JEKYLL, (NO_JEKYLL, file), (), origin=None, is_page=False), *items]
