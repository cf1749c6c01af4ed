"""Files with which an export tells hosts what to do with its files.

GitHub Pages runs Jekyll on a branch that it publishes, and Jekyll leaves out what begins with ``_``, such as the
directory of copies of images and fonts, unless there is a file ``.nojekyll``. Netlify, Cloudflare Pages and others have
browsers ask again for every file; ``_headers`` says that copies, whose names are digests, never change.
"""

from __future__ import annotations

from pathlib import Path

from adaptc.compile.engine.cache.store import Store
from adaptc.core.model import OWN_DIRECTORY
from adaptc.workflow.export.destination import ExportRecord, Item

NO_JEKYLL, HEADERS = ".nojekyll", "_headers"
# A site with this file asks for Jekyll
_CONFIGURATION = "_config.yml"
# A placeholder stands for one part of a path: below the directory are the levels of a ladder, whose files may change
_COPIES_NEVER_CHANGE = f"/{OWN_DIRECTORY}:file\n  Cache-Control: public, max-age=31536000, immutable\n"


def with_host_files(items: list[Item], store: Store, target: Path, record: ExportRecord) -> list[Item]:
    """Return the items of an export to ``target`` with those of ``.nojekyll`` and ``_headers`` that it needs.

    A file of this name that the site has, or that somebody put into the export, stays.
    """
    paths = {item.path for item in items}
    content: dict[str, bytes] = {}
    if any(_is_copy(item.plain[0]) for item in items):
        content[HEADERS] = _COPIES_NEVER_CHANGE.encode()
    if any(path.startswith("_") for path in paths) and _CONFIGURATION not in paths:
        content[NO_JEKYLL] = b""
    mine = record.read() or ()
    wanted = [name for name in content if name not in paths and (name in mine or not (target / name).exists())]
    return [*(_item(name, Path(store.object_path(store.put(content[name])))) for name in wanted), *items]


def _is_copy(name: str) -> bool:
    return name.startswith(OWN_DIRECTORY) and "/" not in name.removeprefix(OWN_DIRECTORY)


def _item(name: str, file: Path) -> Item:
    return Item(name, (name, file), (), origin=None, is_page=False)
