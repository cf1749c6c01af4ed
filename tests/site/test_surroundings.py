"""What the surroundings of a site say: generator, host, whether pages need scripts, and the commands that follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from adaptc.site.published import App
from adaptc.site.surroundings import Surroundings, first_commands, look_around, named_domain, usual_docroot


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root / "public"


def named(surroundings: Surroundings) -> tuple[str | None, str | None]:
    return (surroundings.generator and surroundings.generator.name, surroundings.host and surroundings.host.name)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"public/index.html": '<meta name="generator" content="Hugo 0.131.0">'}, ("Hugo 0.131.0", None)),
        ({"public/index.html": "<META content='Astro v5' NAME=generator>"}, ("Astro v5", None)),
        ({"public/index.html": "", "public/_static/documentation_options.js": ""}, ("Sphinx", None)),
        ({"public/index.html": "", "mkdocs.yml": "", "public/CNAME": "a.example"}, ("MkDocs", "GitHub Pages")),
        ({"docusaurus.config.js": "", "netlify.toml": ""}, ("Docusaurus", "Netlify")),
        ({"wrangler.jsonc": "{}"}, (None, "Cloudflare")),
        ({".github/workflows/site.yml": "uses: actions/deploy-pages@v4"}, (None, "GitHub Pages")),
        ({".gitlab-ci.yml": "image: x\npages:\n  script: []\n"}, (None, "GitLab Pages")),
        ({"public/.htaccess": "Options -Indexes"}, (None, "Apache")),
        ({"netlify.toml": "", "vercel.json": "{}"}, (None, None)),  # two hosts: nobody knows which
        ({"public/index.html": "<p>words"}, (None, None)),
    ],
)
def test_generator_and_host(tmp_path: Path, files: dict[str, str], expected: tuple[str | None, str | None]) -> None:
    docroot = write(tmp_path, {"public/none.txt": "", **files})
    assert named(look_around(docroot, tmp_path)) == expected


def test_nothing_is_said_of_what_cannot_be_read(tmp_path: Path) -> None:
    assert look_around(tmp_path / "none", tmp_path / "none") == Surroundings()
    assert look_around(None, tmp_path) == Surroundings()


def test_an_application_is_known_by_its_pages(tmp_path: Path) -> None:
    shell = "<body><div id=root></div><script src=app.js></script><noscript>You need scripts to see this</noscript>"
    docroot = write(tmp_path, {"public/index.html": shell})
    assert look_around(docroot, tmp_path).app == App("An application", is_rendered=False)
    write(tmp_path, {"public/index.html": f"<body><p>{'word ' * 30}<script src=app.js></script>"})
    assert look_around(docroot, tmp_path).app is None


def test_the_folder_of_the_generator_comes_first(tmp_path: Path) -> None:
    write(tmp_path, {"public/index.html": "", "site/index.html": ""})
    assert usual_docroot(tmp_path) == "public"
    (tmp_path / "mkdocs.yml").touch()
    assert usual_docroot(tmp_path) == "site"


@pytest.mark.parametrize(("text", "name"), [("Herons.example\n", "herons.example"), ("a b", None), ("x", None)])
def test_the_domain_of_github_pages(tmp_path: Path, text: str, name: str | None) -> None:
    docroot = write(tmp_path, {"public/CNAME": text})
    assert named_domain(docroot, tmp_path) == name


def test_commands_fit_the_host(tmp_path: Path) -> None:
    docroot = write(tmp_path, {"public/index.html": "", "netlify.toml": ""})

    def commands(surroundings: Surroundings, has_browser: bool = False, *installed: str) -> list[str]:
        option = " -o out"
        found = first_commands(
            "public", option, surroundings, has_browser=has_browser, finds=lambda name: name in installed
        )
        return [each.name for each in found]

    static = commands(look_around(docroot, tmp_path), True, "nginx")
    assert static == ["adaptc web public adapted -o out", "adaptc prove -o out", "adaptc preview -o out"]
    assert commands(Surroundings(), False, "apache2")[0] == "adaptc emit apache -o out"
    written = Surroundings(app=App("Vite", is_rendered=False))
    assert commands(written, True)[:2] == ["adaptc build public -o out --browser", "adaptc web public adapted -o out"]
    assert commands(written)[0] == "adaptc web public adapted -o out"
    assert len(commands(Surroundings(), True, "nginx")) == 3
