"""Modules that a page loads anyway are in it, and run as they did from their files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.sites.shown import URL, site, visits
from tests.sites.small import SmallSite

from adaptc.browser.answers import Answer, Server
from adaptc.browser.tab import Tab
from adaptc.compile.pipeline import BY_NAME, Step
from adaptc.compile.view import Settings
from adaptc.formats.script.modules import module_facts, rehomed

HEAD = "<!doctype html><html lang=en><head><meta charset=utf-8><title>T</title>"
# Modules that do nothing, so that there are enough for their requests to cost more than the script
MORE = {f"js/more{number}.js": "export {}" for number in range(8)}
ALL_MORE = "".join(f"import '/{name}';" for name in MORE)
NOISE = hashlib.shake_256(b"").hexdigest(9000)
WORDS = "<p>Words of the page that can be read before any script has run, and long enough to be no shell.</p>"
SAY = "export const seen = globalThis.seen ??= []; export const say = word => { seen.push(word); "
SAY += "document.documentElement.dataset.seen = seen.join(' ') }"
FILES = {
    "js/say.js": SAY,
    # a cycle, a binding that changes later, a module that waits, an address, a name with escapes
    "js/main.js": (
        'import { say } from "./say.js"; import { next, count } from "./count.js"; import "./wait.js"\n'
        'import * as all from "./sub/all.js"; export const own = "main"\n'
        "say('main'); next(); say('count' + count); say(all.default + all.kept)\n"
        'say(new URL("./a.gif", import.meta.url).pathname)\n'
        'const later = await import("./later.js"); say(later.word); const name = "late"\n'
        "say((await import(`./${name}r.js`)).word); say((await import('./later.js')) === later)\n"
    ),
    "js/count.js": 'import { own } from "./main.js"; export let count = 0; export const next = () => { count++; own }',
    "js/wait.js": 'import { say } from "./say.js"; await 0; say("waited")',
    "js/sub/all.js": 'export { word as kept } from "../kept.js"; export default { toString: () => "all" }',
    "js/kept.js": 'import { say } from "./say.js"; say("kept"); export const word = "</script>"',
    "js/later.js": 'import { say } from "./say.js"; say("later"); export const word = import.meta.url.split("/").pop()',
}
PAGE = HEAD + (
    "<link rel=modulepreload href=/js/say.js><link rel=modulepreload href=/js/count.js>"
    "<link rel=modulepreload href=/js/wait.js><script type=module src=/js/main.js></script></head><body>" + WORDS
)


def moved(files: Mapping[str, str], **more: object) -> str:
    """The page ``index.html`` of a site for a crowd."""
    contents = dict(files)
    small = SmallSite(
        contents, shared=[name for name in contents if name.endswith(".js")], settings=Settings(crowd_limit=5000)
    )
    each = BY_NAME["inline-scripts"]
    options: dict[str, Any] = {key: option.default for key, option in each.options.items()}
    done = small.rewrite(steps=(Step(each, {**options, "readers": "crowd", **more}),), promise="words")
    return small.contents["index.html"].decode() if done.content is None else done.content.decode()


def counting(server: Server, asked: list[str]) -> Server:
    def answer(url: str) -> Answer | None:
        asked.append(url.removeprefix(URL))
        return server(url)

    return answer


def run(program: str, *pages: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """What the modules of each page said in their order, and the files that were asked for."""
    asked: list[list[str]] = [[] for _ in pages]
    servers = [counting(site(dict(page)), each) for page, each in zip(pages, asked, strict=True)]

    async def look(tab: Tab) -> str:
        await tab.settle()
        return str(await tab.run("() => document.documentElement.dataset.seen"))

    said = visits(program, servers, look)
    return [(words, [name for name in names if name.endswith(".js")]) for words, names in zip(said, asked, strict=True)]


def test_modules_in_the_page_run_as_their_files(chromium: str) -> None:
    files = {**FILES, "index.html": PAGE}
    written = {**FILES, "index.html": moved(files)}
    (before, loaded), (after, left) = run(chromium, files, written)
    assert before == "kept waited main count1 all</script> /js/a.gif later later.js later.js true"
    assert after == before
    assert sorted(set(loaded)) == sorted(FILES)
    assert set(left) == {"js/later.js"}  # nothing says that the page loads it


def test_an_import_map_of_the_page_names_the_same_modules(chromium: str) -> None:
    page = HEAD + (
        '<script type=importmap>{"imports":{"#say":"/js/say.js","#far":"/js/far.js"}}</script>'
        "<script type=module src=/js/a.js></script><script type=module>import '#say'; import '/js/far.js'</script>"
        "</head><body>" + WORDS
    )
    files = {
        "js/say.js": SAY,
        "js/far.js": "import { say } from '#say'; say('far' + import.meta.url.length)//" + NOISE,
        "js/a.js": ALL_MORE + "import { say } from './say.js'; import '#far'; say('a')",
        "index.html": page,
        **MORE,
    }
    written = moved(files)
    assert "importmap" not in re.sub(r"<script>.*?</script>", "", written)
    (before, _), (after, left) = run(chromium, files, {**files, "index.html": written})
    assert before.startswith("far") and after == before
    assert left == ["js/far.js"]  # too large for the page: it imports what is there


def test_deferred_scripts_keep_their_order(chromium: str) -> None:
    log = "document.documentElement.dataset.seen = (document.documentElement.dataset.seen || '') + "
    files = {
        "js/a.js": f"{ALL_MORE} import './b.js'; {log} 'a'",
        "js/b.js": f"{log} 'b'",
        "js/last.js": f"{log} 'defer'",
        **MORE,
        "index.html": HEAD
        + "<script type=module src=/js/a.js></script><script defer src=/js/last.js></script>"
        + f"<script type=module>{log} 'inline'</script></head><body>",
    }
    written = moved(files)
    assert "type=modules" in written
    (before, _), (after, left) = run(chromium, files, {**files, "index.html": written})
    assert before == after == "badeferinline"
    assert left == []


@pytest.mark.parametrize(
    "page",
    [
        PAGE.replace("<title>", "<meta http-equiv=Content-Security-Policy content=\"script-src 'self'\"><title>"),
        PAGE.replace(
            "<title>",
            "<meta http-equiv=Content-Security-Policy content=\"script-src 'self' 'unsafe-inline' data:\"><title>",
        ),
        PAGE.replace("<script", "<script async src=/js/x.js></script><script async"),
        PAGE.replace("src=/js/main.js", "src=/js/main.js integrity=sha256-YQ=="),
        PAGE.replace(
            "<script", "<script>addEventListener('load', () => document.querySelector('script[src]'))</script><script"
        ),
    ],
    ids=["policy", "policy without blob", "async before the words", "integrity", "a script looks for it"],
)
def test_modules_stay_files(page: str) -> None:
    written = moved({**FILES, "js/x.js": "1", "index.html": page})
    assert re.search('src="?/js/main.js', written) and "say('main')" not in written


def test_a_module_that_a_script_may_insert_stays_a_file() -> None:
    insert = (
        "const e = document.createElement('script'); e.type = 'module'; e.src = '/js/kept.js'; document.body.append(e)"
    )
    written = moved({**FILES, "js/wait.js": insert, "index.html": PAGE})
    texts = written.partition("<script type=modules>")[2]
    assert "say('main')" in texts and 'say("kept")' not in texts


def test_a_page_that_would_be_larger_than_above_is_made_without_modules() -> None:
    files = {**FILES, "index.html": PAGE}
    assert "type=modules" in moved(files)
    assert "type=modules" not in moved(files, budget=0)  # as the build makes it again


def test_few_small_modules_stay_files() -> None:
    files = {
        "js/a.js": "import './b.js'",
        "js/b.js": "1",
        "index.html": HEAD + "<script type=module src=js/a.js></script>",
    }
    assert moved(files) == files["index.html"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('import"./a.js"', "import<./a.js>"),
        (
            'import a,{b as c}from"./a.js";import*as d from"./b.js"',
            "import a,{b as c}from<./a.js>;import*as d from<./b.js>",
        ),
        ("export*from'./a.js';export*as x from'./b.js'", "export*from<./a.js>;export*as x from<./b.js>"),
        ("export{a}from'./a.js';export{b};export default 1", "export{a}from<./a.js>;export{b};export default 1"),
        ('const a=()=>import("./a.js")', "const a=()=>import(<./a.js>)"),
        ("a.import('x');b={import:1,export:2};c?.export", "a.import('x');b={import:1,export:2};c?.export"),
        ("export{x as import};import{default as y}from'z'", "export{x as import};import{default as y}from<z>"),
        ("`${import.meta.url}`", "`${OWN}`"),
        ("import(a)", "import((s=>/^[./]/.test(s)?new URL(s,OWN)+'':s)(a))"),
        (
            "import(a),import($_0)",
            "import($_1(a)),import($_1($_0))\nfunction $_1(s){return /^[./]/.test(s)?new URL(s,OWN)+'':s}",
        ),
    ],
)
def test_specifiers(text: str, written: str) -> None:
    facts = module_facts(text)
    assert facts.is_portable
    assert rehomed(text, facts, "OWN", lambda specifier: f"<{specifier}>") == written


@pytest.mark.parametrize(
    "text",
    [
        "import.meta.env.MODE",
        "const { url } = import.meta",
        "import data from './a.json' with { type: 'json' }",
        "import('./a.js', { with: {} })",
        "class A { import() {} }",
        "import source x from './a.wasm'; `",
    ],
)
def test_modules_that_depend_on_their_address_otherwise(text: str) -> None:
    assert not module_facts(text).is_portable
