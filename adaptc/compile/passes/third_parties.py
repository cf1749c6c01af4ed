"""third-parties: scripts of other sites run once a visitor does something, players and maps load once they are touched.

Only what nobody waits for is held back: scripts that the markup loads with ``async``, and those that other scripts
insert (``wake.js``). They come when they like, so that the scripts of the page cannot rely on them. Of others it is
known what they define, and that the page does not use it, or not before it is there. A frame shows a
link in place of a player or a map, which loads it into the frame. All depends on lists of hosts, which are options.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adaptc.compile.page.context import KEPT, PageContext, Report, is_isolated
from adaptc.compile.view import WAITING_BYTES, Options, View
from adaptc.core.fs import package_file
from adaptc.core.model import Action
from adaptc.core.urls import host_and_path, host_of, join
from adaptc.formats.html.edit import Editor
from adaptc.formats.html.syntax import attribute_markup, text_markup
from adaptc.formats.html.visible_text import fold_space
from adaptc.formats.script import is_javascript_type, is_module_type
from adaptc.formats.script.minify import minify_script

if TYPE_CHECKING:
    from turbohtml import Element

__all__ = ["hold_third_parties"]

NAME = "third-parties"
# The type of a script that is held back, and the attribute with its address; its own type is in TYPE-type
_TYPE, _ADDRESS = "adaptc-held", "data-held"


def hold_third_parties(editor: Editor, page: PageContext, view: View, options: Options) -> Report:
    """Hold back scripts from ``hosts`` until a visitor does something, and ``frames`` until they are touched."""
    report = Report()
    if page.has_policy:
        if options["hosts"] or options["frames"]:
            report.actions.append(Action(NAME, KEPT, "page", "it has a Content-Security-Policy"))
        return report
    _hold_scripts(editor, page, options["hosts"], report)
    _hold_frames(editor, page, options["frames"], report)
    return report


# ---- scripts


def _hold_scripts(editor: Editor, page: PageContext, hosts: Collection[str], report: Report) -> None:
    scripts = [each for each in editor.tree.iter_elements("script") if not is_isolated(each, editor.text)]
    held = [each for each in scripts if _is_of(host_of(page.base, each.attr("src") or ""), hosts)]
    ready = [each for each in held if _may_wait(each, editor.text, page)]
    for script in held:
        host = host_of(page.base, script.attr("src") or "")
        if script in ready:
            _hold(script, editor)
            report.actions.append(Action(NAME, "held", host, "its script runs once a visitor does something"))
        else:
            report.actions.append(Action(NAME, KEPT, host, "scripts of the page may rely on what it defines"))
    inserted = sorted({host for host in hosts if any(facts.names_address(host) for facts in page.scripts.values())})
    report.actions += [Action(NAME, "held", host, "scripts that insert it wait for a visitor") for host in inserted]
    if ready or inserted:
        waiting = {host_of(page.base, script.attr("src") or "") for script in ready}.union(inserted)
        editor.insert_before(scripts[0], f"<script>{_wake_script(tuple(sorted(waiting)))}</script>")
        report.absorbed += WAITING_BYTES * (len(ready) + len(inserted))


def _may_wait(script: Element, text: str, page: PageContext) -> bool:
    kind, address = script.attr("type"), script.attr("src") or ""
    is_script = is_javascript_type(kind, script.attr("language")) or is_module_type(kind)
    if not is_script or "nomodule" in script.attrs or page.selects("src", address):
        return False
    return "async" in script.attrs or _is_unused(_global_of(host_of(page.base, address)), text, page)


# What scripts of other sites define that pages load before other scripts: the name by which pages use it
_GLOBALS = {
    "addthis.com": "addthis", "cloudflareinsights.com": "__cfBeacon", "gc.zgo.at": "goatcounter",
    "plausible.io": "plausible", "scripts.simpleanalyticscdn.com": "sa_event", "stats.wp.com": "_stq",
    "umami.is": "umami", "usefathom.com": "fathom", "zdassets.com": "zE",
}  # fmt: skip


def _global_of(host: str) -> str | None:
    return next((name for known, name in _GLOBALS.items() if _is_of(host, (known,))), None)


def _is_unused(name: str | None, text: str, page: PageContext) -> bool:
    """Whether no script or handler of a page uses a global, or the page has a queue for it (``x = window.x || []``)."""
    if name is None:
        return False
    if re.search(rf"\b{name}\s*=\s*(?:window\.)?{name}\s*\|\|", text):
        return True
    codes = (code if isinstance(code, str) else code.decode("utf-8", "replace") for code in page.scripts)
    if re.search(rf"(?<![\w/-]){name}(?:\s*\(|\??\.)", text):
        return False
    return not any(re.search(rf"(?<![/-])\b{name}\b(?!\.(?:com|io|is)\b)", code) for code in codes)


def _hold(script: Element, editor: Editor) -> None:
    kind = script.attr("type")
    if kind is not None:
        editor.set_attribute(script, f"{_TYPE}-type", kind)
    editor.set_attribute(script, "type", _TYPE)
    editor.set_attribute(script, _ADDRESS, script.attr("src") or "")
    editor.remove_attribute(script, "src")


@cache
def _wake_script(hosts: tuple[str, ...]) -> str:
    values = {"HOSTS": "[" + ",".join(f"'{host}'" for host in hosts) + "]", "TYPE": _TYPE, "ADDRESS": _ADDRESS}
    source = package_file(__package__, "wake.js").read_text("utf-8")
    filled = re.sub(r"\b(?:HOSTS|ADDRESS|TYPE)\b", lambda match: values[match[0]], source)
    return minify_script(filled) or filled


# ---- frames

# Fields of an address by which the scripts of a page talk to a player, or which ask it to start by itself
_LIVE = re.compile(r"[?&](?:enablejsapi|api|autoplay|background)=(?:1|true)\b")
_PLAYS = re.compile(r"//(?:www\.)?(?:youtube(?:-nocookie)?\.com/embed|player\.vimeo\.com/video)/")
_PLAYER = (
    "<!DOCTYPE html><meta charset=utf-8><style>html,a{{height:100%}}body{{margin:0;height:100%}}a{{display:grid;"
    "place-content:center;text-align:center;gap:.5em;padding:0 1em;box-sizing:border-box;background:#222;color:#fff;"
    "font:1em/1.4 system-ui,sans-serif;text-decoration:none}}b{{font-size:3em;line-height:1}}</style>"
    "<a {address}><b aria-hidden=true>&#9654;</b><span>{title}</span></a>"
)


def _hold_frames(editor: Editor, page: PageContext, hosts: Collection[str], report: Report) -> None:
    for frame in editor.tree.iter_elements("iframe"):
        url = join(page.base, frame.attr("src") or "") or ""
        host = host_and_path(url)[0]
        if is_isolated(frame, editor.text) or not _is_of(host + host_and_path(url)[1], hosts, of_paths=True):
            continue
        reason = next(_reasons_to_load(frame, url, host, page), None)
        if reason is None:
            title = fold_space(frame.attr("title") or "") or host
            content = _PLAYER.format(address=attribute_markup("href", _playing(url)), title=text_markup(title))
            editor.set_attribute(frame, "srcdoc", content)
            report.absorbed += WAITING_BYTES
        verb = "held" if reason is None else KEPT
        report.actions.append(Action(NAME, verb, host, reason or "it loads once it is touched"))


def _playing(url: str) -> str:
    """Return the address at which a player plays at once; other frames have no such field."""
    if not _PLAYS.search(url):
        return url
    address, mark, fragment = url.partition("#")
    return f"{address}{'&' if '?' in address else '?'}autoplay=1{mark}{fragment}"


def _reasons_to_load(frame: Element, url: str, host: str, page: PageContext) -> Iterator[str]:
    if "srcdoc" in frame.attrs or "sandbox" in frame.attrs:
        yield "its content is not that of its address alone"
    if _LIVE.search("?" + urlsplit(url).query):
        yield "it starts by itself, or scripts control it"
    names = {frame.attr("id"), frame.attr("name"), *(frame.attr("class") or "").split()}
    if any(
        facts.names_address(host) or not names.isdisjoint(facts.quoted | facts.handles.classes)
        for facts in page.scripts.values()
    ):
        yield "a script of the page may control it"


def _is_of(name: str, hosts: Collection[str], *, of_paths: bool = False) -> bool:
    """Whether a host is one of ``hosts`` or below one; with ``of_paths`` they may have the beginning of a path, too."""
    if not of_paths:
        return any(name == host or name.endswith(f".{host}") for host in hosts)
    return any(name.startswith((host, f"www.{host}")) for host in hosts)
