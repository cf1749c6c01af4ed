"""What the surroundings of a site say: generator, host, whether pages need scripts, and the commands that follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from adaptc.site.published import App
from adaptc.site.surroundings import (
    Surroundings,
    build_command,
    first_commands,
    holds_pages,
    look_around,
    named_domain,
    project_of,
    sites_below,
    usual_docroot,
)


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


def test_a_project_is_not_that_of_each_site_in_its_tree(tmp_path: Path) -> None:
    write(tmp_path, {"mkdocs.yml": "", "examples/news/site/index.html": "<p>words", "site/index.html": "<p>words"})
    assert look_around(tmp_path / "examples/news/site", tmp_path).generator is None
    assert named(look_around(tmp_path / "site", tmp_path)) == ("MkDocs", None)


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


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"hugo.toml": ""}, ("Hugo", "public", "hugo")),
        ({"config.toml": "baseURL = 'https://herons.example/'"}, ("Hugo", "public", "hugo")),
        ({"config.toml": 'base_url = "https://herons.example/"'}, ("Zola", "public", "zola build")),
        ({"config.toml": "[server]"}, None),
        ({"_config.yml": "", "Gemfile": ""}, ("Jekyll", "_site", "bundle exec jekyll build")),
        ({"_config.yml": "", "scaffolds/post.md": ""}, ("Hexo", "public", "npx hexo generate")),
        ({"astro.config.mjs": "", "package.json": '{"scripts": {"build": "x"}}'}, ("Astro", "dist", "npm run build")),
        ({"astro.config.mjs": ""}, ("Astro", "dist", "npx astro build")),
        ({"svelte.config.js": "", "vite.config.js": ""}, ("SvelteKit", "build", "npx vite build")),
        ({"docs/conf.py": ""}, ("Sphinx", "docs/_build/html", "sphinx-build -b html docs docs/_build/html")),
        ({"docs/.vitepress/config.mts": ""}, ("VitePress", "docs/.vitepress/dist", "npx vitepress build docs")),
        ({"index.html": ""}, None),
    ],
)
def test_how_a_project_makes_its_site(
    tmp_path: Path, files: dict[str, str], expected: tuple[str, str, str] | None
) -> None:
    write(tmp_path, files)
    made = project_of(tmp_path)
    assert (made and (made[0].name, made[0].folder, build_command(made[0], tmp_path))) == expected


@pytest.mark.parametrize(
    ("files", "docroot"),
    [
        (
            {"netlify.toml": '[build]\npublish = "webroot/"', "webroot/index.html": "", "public/index.html": ""},
            "webroot",
        ),
        ({"wrangler.toml": 'pages_build_output_dir = "./client"', "client/index.html": ""}, "client"),
        ({"wrangler.toml": '[assets]\ndirectory = "./client"', "client/index.html": ""}, "client"),
        ({"firebase.json": '{"hosting": {"public": "web"}}', "web/index.html": ""}, "web"),
        (
            {
                ".github/workflows/a.yml": "- uses: actions/upload-pages-artifact@v3\n  with:\n    path: './made'\n",
                "made/index.html": "",
            },
            "made",
        ),
        ({"netlify.toml": '[build]\npublish = "../other"', "docs/index.htm": ""}, "docs"),
        ({"netlify.toml": "build = [", "wrangler.toml": "assets = 1", "firebase.json": "[]"}, None),
    ],
)
def test_the_folder_that_a_host_names_comes_first(tmp_path: Path, files: dict[str, str], docroot: str | None) -> None:
    write(tmp_path, files)
    assert usual_docroot(tmp_path) == docroot


def test_sources_of_a_generator_are_no_site(tmp_path: Path) -> None:
    write(tmp_path, {"about.html": "<p>{{ page.title }}"})
    assert holds_pages(tmp_path)
    (tmp_path / "_config.yml").touch()
    assert not holds_pages(tmp_path)


def test_sites_of_a_repository_with_several(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "apps/site/dist/index.html": "",
            "docs/mkdocs.yml": "",
            "node_modules/a/public/index.html": "",
            ".cache/a/public/index.html": "",
            "packages/lib/src/index.js": "",
        },
    )
    assert sites_below(tmp_path) == ["docs", "apps/site"]
    assert sites_below(tmp_path / "none") == []


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
    exported = first_commands("public", "", Surroundings(), has_browser=True, finds="nginx".__eq__, is_exported=True)
    assert [each.name for each in exported] == ["adaptc prove", "adaptc preview"]
    unbuilt = first_commands(
        ".", "", Surroundings(), has_browser=True, finds="nginx".__eq__, is_built=False, adapted="../adapted"
    )
    assert [each.name for each in unbuilt] == ["adaptc build .", "adaptc emit nginx", "adaptc web . ../adapted"]
