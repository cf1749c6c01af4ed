"""The package of npm: its integrations call the program when a generator has ended, and replace the site in place."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

from adaptc.core.version import VERSION

NODE = shutil.which("node")
PACKAGE = ROOT / "js"
WORDS = "A heron stands in the shallow water and waits. " * 40
PAGE = (
    "<!DOCTYPE html>\n<html lang=en>\n  <title>{0}</title>\n  <link rel=stylesheet href=style.css>\n  <p>{0}  " + WORDS
)
pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js")

# What each generator calls, with the arguments that it gives
CALLS = {
    "astro": """
        const { hooks } = adaptc.astro({ level: "lossless", browser: false });
        hooks["astro:config:done"]({ config: { site: "https://user.example", base: "/herons" } });
        hooks["astro:build:done"]({ dir: new URL("dist/", `file://${process.cwd()}/`) });""",
    "vite": """
        const plugin = adaptc.vite({ level: "lossless", browser: false });
        plugin.configResolved({ root: process.cwd(), build: { outDir: "dist", ssr: false } });
        plugin.closeBundle.handler();""",
    "eleventy": """
        let end;
        const config = { on: (name, handler) => (end = name === "eleventy.after" && handler) };
        adaptc.eleventy(config, { level: "lossless", browser: false });
        end({ dir: { output: "dist" }, runMode: "build" });
        end({ dir: { output: "none" }, runMode: "serve" });""",
    "docusaurus": """
        const plugin = adaptc.default({}, { id: "default", level: "lossless", browser: false });
        const siteConfig = { url: "https://user.example", baseUrl: "/herons/" };
        await plugin.postBuild({ outDir: "dist", siteConfig });""",
    "netlify": """
        const cache = { restore: () => {}, save: (place) => console.log(`kept ${place}`) };
        const constants = { PUBLISH_DIR: "dist" };
        await adaptc.onPostBuild({ constants, inputs: { level: "lossless", browser: false }, utils: { cache } });""",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(
        tmp_path,
        {"index.html": PAGE.format("start"), "about.html": PAGE.format("about"), "style.css": ".a {  }\n" * 50},
    )
    return tmp_path


def write(place: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (place / "dist").mkdir(exist_ok=True)
        (place / "dist" / name).write_text(text)


def node(place: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {"ADAPTC": f"{sys.executable} -P -m adaptc", **environment}
    command = [str(NODE), *arguments]
    return subprocess.run(
        command, cwd=place, env={**os.environ, **given}, capture_output=True, text=True, check=False, timeout=900
    )


def call(place: Path, script: str, **environment: str) -> str:
    text = f'const adaptc = await import("{(PACKAGE / "index.js").as_uri()}");\n{script}'
    done = node(place, "--input-type=module", "--eval", text, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("generator", CALLS)
def test_a_generator_replaces_its_site(generator: str, place: Path) -> None:
    said = call(place, CALLS[generator])
    page = (place / "dist/index.html").read_text()
    assert len(page) < len(PAGE.format("start")) and WORDS.strip() in page
    assert (place / "node_modules/.cache/adaptc").is_dir()
    if generator == "netlify":
        assert f"kept {Path('node_modules/.cache/adaptc')}" in said


def test_nothing_is_adapted_twice_and_what_is_gone_is_gone(place: Path) -> None:
    adapt = 'adaptc.adapt("dist", { level: "lossless", browser: false });'
    write(place, {"style.css.map": "{}"})
    call(place, adapt)
    assert not (place / "dist/style.css.map").exists()
    first = (place / "dist/index.html").read_bytes()
    write(place, {"about.html": PAGE.format("other")})
    call(place, adapt)
    assert (place / "dist/index.html").read_bytes() == first
    assert "other" in (place / "dist/about.html").read_text()
    assert len((place / "dist/about.html").read_text()) < len(PAGE.format("other"))
    (place / "dist/about.html").unlink()
    call(place, adapt)
    assert not (place / "dist/about.html").exists()


def test_a_failure_leaves_the_site_and_is_told(place: Path) -> None:
    before = (place / "dist/index.html").read_bytes()
    assert "the site stays as it is" in call(place, 'adaptc.adapt("dist", { level: "nonsense" });')
    assert (place / "dist/index.html").read_bytes() == before
    done = node(place, str(PACKAGE / "index.js"), "adapt", "dist", "nonsense")
    assert done.returncode != 0
    assert node(place, str(PACKAGE / "index.js"), "levels", "nonsense").returncode == 2


def test_the_program_is_found_or_fetched(place: Path) -> None:
    show = "console.log(JSON.stringify(adaptc.program()));"
    tools = place / "tools"
    tools.mkdir()
    path = os.fspath(tools)
    for name, wanted in (
        ("pipx", ["pipx", "run", "--spec", f"adaptc=={VERSION}", "adaptc"]),
        ("uvx", ["uvx", f"adaptc@{VERSION}"]),
        ("adaptc", [f"{tools}/adaptc"]),
    ):
        (tools / name).write_text("")
        assert json.loads(call(place, show, ADAPTC="", PATH=path)) == wanted
    bin_folder = place / "node_modules/.bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "adaptc").write_text("")
    said = call(
        place, "try { adaptc.program(); } catch (e) { console.log(e.message); }", ADAPTC="", PATH=str(bin_folder)
    )
    assert "install uv or pipx" in said


def test_the_package_has_the_version_of_the_program() -> None:
    package = json.loads((PACKAGE / "package.json").read_text())
    assert package["version"] == VERSION
    assert {file.name for file in PACKAGE.iterdir()} == {*package["files"], "package.json"}


# ---- the generators themselves, from the registry of npm

HEAD = "<!DOCTYPE html>\n<html lang=en>\n<head>\n  <title>t</title>\n</head>\n"
LINES = "".join(f'  <p  class="line"  title="number {number * 7919}"  >  {number}  </p  >\n\n' for number in range(40))
BODY = f"{HEAD}<body>\n\n\n  <p>{WORDS}</p>\n{LINES}</body>\n</html>\n"
# By generator: its packages, its command, its project, and where its page is
PROJECTS = {
    "eleventy": (
        ["@11ty/eleventy@3"],
        "@11ty/eleventy/cmd.cjs",
        {
            "eleventy.config.mjs": 'import { eleventy } from "adaptc";\n'
            "export default (config) => { config.addPlugin(eleventy); };\n",
            "index.html": BODY,
        },
        "_site/index.html",
    ),
    "vite": (
        ["vite@8"],
        "vite/bin/vite.js build",
        {
            "vite.config.mjs": 'import { vite } from "adaptc";\n'
            'export default { plugins: [vite()], base: "/herons/" };\n',
            "index.html": BODY.replace("</head>", "<script type=module src=/main.js></script></head>"),
            "main.js": 'document.title += "!";\n',
        },
        "dist/index.html",
    ),
    "astro": (
        ["astro@5"],
        "astro/astro.js build",
        {
            "astro.config.mjs": 'import { astro } from "adaptc";\n'
            "export default { compressHTML: false, integrations: [astro()] };\n",
            "src/pages/index.astro": f"---\n---\n{BODY}",
        },
        "dist/index.html",
    ),
}


@pytest.mark.npm
@pytest.mark.parametrize("generator", PROJECTS)
def test_the_generator_of_today(generator: str, tmp_path: Path) -> None:
    packages, command, files, page = PROJECTS[generator]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "package.json").write_text("{}")
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *packages], cwd=tmp_path, check=True)
    shutil.copytree(PACKAGE, tmp_path / "node_modules/adaptc")
    program, *words = command.split()
    done = node(tmp_path, f"node_modules/{program}", *words, ASTRO_TELEMETRY_DISABLED="1")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / page).read_text()
    assert WORDS.strip() in text
    assert "<html lang=en><" in text, done.stdout + done.stderr
