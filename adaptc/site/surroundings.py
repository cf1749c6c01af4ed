"""What a site's surroundings say of it: the generator that makes it, and the host that publishes it.

Each finding has its reason. What two signs disagree on is not said: a first command is to be right, or to ask.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from adaptc.core.values import dataclass
from adaptc.site.host_files import PUBLISHED
from adaptc.site.published import App, find_app

_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class Finding:
    """A name, and the file or mark that says so."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a docroot; None for what nothing says.

    ``sends_files`` tells whether the host sends files as they are, so that one level is exported to it.
    ``app`` is what application its pages are, if they are one.
    """

    generator: Finding | None = None
    host: Finding | None = None
    app: App | None = None

    @property
    def sends_files(self) -> bool:
        """Whether the host only sends files, and encodes them by itself."""
        return self.host is not None and self.host.name != _APACHE


_APACHE = "Apache"


@dataclass(frozen=True, slots=True)
class Generator:
    """A program that writes sites: what its projects are known by, where it puts the site, and how it is called.

    One of ``files`` is there, with ``mark`` (lower case) in its text. ``plugin`` is the line that calls adaptc.
    """

    name: str
    files: tuple[str, ...]
    folder: str
    command: str
    plugin: str = ""
    mark: str = ""


_NPM = "of the package adaptc of npm"
_SPHINX_PLUGIN = 'extensions = ["adaptc.plugins"] in conf.py'
_GENERATORS = (
    Generator(
        "MkDocs", ("mkdocs.yml", "mkdocs.yaml"), "site", "mkdocs build", "plugins: [search, adaptc] in mkdocs.yml"
    ),
    Generator(
        "Docusaurus",
        ("docusaurus.config.js", "docusaurus.config.ts"),
        "build",
        "npx docusaurus build",
        f'plugins: ["adaptc"], {_NPM}',
    ),
    Generator(
        "Astro",
        ("astro.config.mjs", "astro.config.ts", "astro.config.js"),
        "dist",
        "npx astro build",
        f"integrations: [astro()], {_NPM}",
    ),
    Generator(
        "Eleventy",
        (".eleventy.js", "eleventy.config.js", "eleventy.config.mjs", "eleventy.config.cjs"),
        "_site",
        "npx @11ty/eleventy",
        f"config.addPlugin(eleventy), {_NPM}",
    ),
    Generator("Next.js", ("next.config.js", "next.config.mjs", "next.config.ts"), "out", "npx next build"),
    Generator("Nuxt", ("nuxt.config.ts", "nuxt.config.js"), ".output/public", "npx nuxt generate"),
    Generator("Gatsby", ("gatsby-config.js", "gatsby-config.ts"), "public", "npx gatsby build"),
    Generator(
        "VitePress",
        (".vitepress/config.js", ".vitepress/config.ts", ".vitepress/config.mts"),
        ".vitepress/dist",
        "npx vitepress build",
    ),
    Generator(
        "VitePress",
        ("docs/.vitepress/config.js", "docs/.vitepress/config.ts", "docs/.vitepress/config.mts"),
        "docs/.vitepress/dist",
        "npx vitepress build docs",
    ),
    Generator("Hugo", ("hugo.toml", "hugo.yaml", "hugo.json", "config/_default/hugo.toml"), "public", "hugo"),
    Generator("Hugo", ("config.toml", "config.yaml", "config/_default/config.toml"), "public", "hugo", mark="baseurl"),
    Generator("Zola", ("config.toml", "zola.toml"), "public", "zola build", mark="base_url"),
    Generator("Hexo", ("scaffolds/post.md", "_config.landscape.yml"), "public", "npx hexo generate"),
    Generator("Jekyll", ("_config.yml",), "_site", "jekyll build"),
    Generator(
        "Pelican", ("pelicanconf.py",), "output", "pelican content", 'PLUGINS = ["adaptc.plugins"] in publishconf.py'
    ),
    Generator("mdBook", ("book.toml",), "book", "mdbook build"),
    Generator("Quarto", ("_quarto.yml",), "_site", "quarto render"),
    Generator("Sphinx", ("conf.py",), "_build/html", "sphinx-build -b html . _build/html", _SPHINX_PLUGIN),
    Generator(
        "Sphinx", ("docs/conf.py",), "docs/_build/html", "sphinx-build -b html docs docs/_build/html", _SPHINX_PLUGIN
    ),
    Generator(
        "Sphinx",
        ("docs/source/conf.py",),
        "docs/build/html",
        "sphinx-build -b html docs/source docs/build/html",
        _SPHINX_PLUGIN,
    ),
    Generator("Sphinx", ("source/conf.py",), "build/html", "sphinx-build -b html source build/html", _SPHINX_PLUGIN),
    Generator("SvelteKit", ("svelte.config.js",), "build", "npx vite build"),
    Generator(
        "Vite",
        ("vite.config.js", "vite.config.ts", "vite.config.mjs"),
        "dist",
        "npx vite build",
        f"plugins: [vite()], {_NPM}",
    ),
)
# Where generators put a site, and GitHub Pages takes one from; the first that holds a page is taken.
USUAL_DOCROOTS = (
    "public",
    "_site",
    "dist",
    "site",
    "htdocs",
    "www",
    "html",
    "build",
    "output",
    "out",
    "_build/html",
    "book",
    "docs",
)
_META = re.compile(r"<meta\b[^>]*\bname=[\"']?generator[\"']?[^>]*>", re.IGNORECASE)
_CONTENT = re.compile(r"\bcontent=(?:\"([^\"]+)\"|'([^']+)'|([^\s>]+))", re.IGNORECASE)
_SPHINX = "_static/documentation_options.js"

_HOSTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Netlify", ("netlify.toml",)),
    ("Cloudflare", ("wrangler.toml", "wrangler.jsonc", "wrangler.json")),
    ("Vercel", ("vercel.json",)),
    ("Firebase", ("firebase.json",)),
    ("Azure Static Web Apps", ("staticwebapp.config.json",)),
    ("GitHub Pages", ("CNAME",)),
    (_APACHE, (".htaccess",)),
)
_WORKFLOWS: Mapping[str, tuple[str, str]] = {
    ".github/workflows": (
        r"actions/deploy-pages|peaceiris/actions-gh-pages|\bgh-deploy\b|actions/upload-pages",
        "GitHub Pages",
    ),
    ".gitlab-ci.yml": (r"^pages:", "GitLab Pages"),
}
_INDEX = "index.html"
_INDEXES = (_INDEX, "index.htm")
# Files of hosts that name the directory that is published, besides those of which the rules are read
_WRANGLER = "wrangler.toml"
_UPLOADED = re.compile(r"\b(?:path|publish_dir):[ \t]*[\"']?([\w./-]+)")
_UPLOADERS = re.compile("actions/upload-pages-artifact|peaceiris/actions-gh-pages")
_NEAR = 300  # characters from the name of an action to its inputs
_MOST_LOOKED_AT = 200  # directories in which sites are searched


def look_around(docroot: Path | None, project: Path) -> Surroundings:
    """Return what files say of a docroot, and of the directory of its project. What cannot be read says nothing."""
    page = _text(docroot / _INDEX) if docroot is not None else ""
    places = [each for each in (docroot, project) if each is not None]
    app = find_app(docroot, (_INDEX,)) if docroot is not None and docroot.is_dir() else None
    return Surroundings(_generator(docroot, project, page), _host(places, project), app)


def usual_docroot(base: Path) -> str | None:
    """Return a folder below ``base`` that holds an index page: what a host or its generator names, or a usual one."""
    made = project_of(base)
    named = (posixpath.normpath(each) for each in _published(base) if ".." not in each.split("/"))
    names = dict.fromkeys([*named, *([made[0].folder] if made else []), *USUAL_DOCROOTS])
    return next((name for name in names if any((base / name / index).is_file() for index in _INDEXES)), None)


def project_of(base: Path) -> tuple[Generator, str] | None:
    """Return the generator whose project a directory holds, and the file that says so."""
    found = ((each, file) for each in _GENERATORS for file in each.files if (base / file).is_file())
    return next((row for row in found if row[0].mark in _text(base / row[1]).lower()), None)


def build_command(generator: Generator, base: Path) -> str:
    """Return the command by which a project makes its site."""
    if generator.name == "Jekyll" and (base / "Gemfile").is_file():
        return f"bundle exec {generator.command}"
    has_script = generator.command.startswith("npx ") and re.search(r'"build"\s*:', _text(base / "package.json"))
    return "npm run build" if has_script else generator.command


def holds_pages(base: Path) -> bool:
    """Whether a directory that is no project of a generator has pages of its own."""
    return project_of(base) is None and any(each.suffix in (".html", ".htm") for each in _children(base))


def sites_below(base: Path) -> list[str]:
    """Return the directories one or two steps down that hold a site or a project of a generator, as of a monorepo."""
    waiting, found = [(each, 1) for each in _folders(base)], []
    for count, (folder, depth) in enumerate(waiting):
        if count >= _MOST_LOOKED_AT:
            break
        if usual_docroot(folder) is not None or project_of(folder) is not None:
            found.append(folder.relative_to(base).as_posix())
        elif depth == 1:
            waiting += [(each, 2) for each in _folders(folder)]
    return found


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _folders(base: Path) -> list[Path]:
    return [
        each
        for each in _children(base)
        if not each.name.startswith(".") and each.name != "node_modules" and each.is_dir()
    ]


def _published(base: Path) -> Iterator[str]:
    """Yield the directories that files of hosts and workflows say are published."""
    for name, published in PUBLISHED.items():
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            if isinstance(where := published(_text(base / name)), str):
                yield where.strip("/") or "."
    with contextlib.suppress(tomllib.TOMLDecodeError):
        cloudflare = tomllib.loads(_text(base / _WRANGLER))
        assets = cloudflare.get("assets")
        places = (
            cloudflare.get("pages_build_output_dir"),
            assets.get("directory") if isinstance(assets, dict) else None,
        )
        yield from (place for place in places if isinstance(place, str))
    for file in _workflows(base, ".github/workflows"):
        text = _text(file)
        for action in _UPLOADERS.finditer(text):
            if found := _UPLOADED.search(text, action.end(), action.end() + _NEAR):
                yield found[1]


def _generator(docroot: Path | None, project: Path, page: str) -> Finding | None:
    for element in _META.findall(page):
        if match := _CONTENT.search(element):
            return Finding(" ".join(next(filter(None, match.groups())).split()), "a page's <meta name=generator>")
    if docroot is not None and (docroot / _SPHINX).is_file():
        return Finding("Sphinx", _SPHINX)
    made = project_of(project)
    return Finding(made[0].name, made[1]) if made is not None and _may_write(made[0], docroot, project) else None


def _may_write(generator: Generator, docroot: Path | None, project: Path) -> bool:
    """Whether a project writes a docroot: the usual one, or one right below it, not any site that lies in its tree."""
    if docroot is None:
        return True
    place = os.path.relpath(docroot, project)
    return place == generator.folder or os.sep not in place


def _host(places: list[Path], project: Path) -> Finding | None:
    """Return the host that files name, unless they name several."""
    found = [
        Finding(name, file)
        for name, files in _HOSTS
        for file in files
        if any((each / file).is_file() for each in places)
    ]
    found += list(_named_in_workflows(project))
    names = {finding.name for finding in found}
    return found[0] if len(names) == 1 else None


def _named_in_workflows(project: Path) -> Iterator[Finding]:
    for place, (pattern, host) in _WORKFLOWS.items():
        for file in _workflows(project, place):
            if re.search(pattern, _text(file), re.MULTILINE):
                yield Finding(host, file.relative_to(project).as_posix())


def _workflows(project: Path, place: str) -> list[Path]:
    path = project / place
    return sorted(path.glob("*.y*ml")) if path.is_dir() else [path] if path.is_file() else []


def _text(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return content.read(_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def named_domain(docroot: Path, project: Path) -> str | None:
    """Return the domain that a file ``CNAME`` of GitHub Pages names."""
    for place in (docroot, project):
        name = _text(place / "CNAME").strip().lower()
        if re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", name):
            return name
    return None


# ---- what to do first


def first_commands(
    docroot: str,
    output: str,
    surroundings: Surroundings,
    *,
    has_browser: bool,
    finds: Callable[[str], bool],
    is_built: bool = True,
    is_exported: bool = False,
    adapted: str = "adapted",
) -> list[Finding]:
    """Return up to three commands to paste, those that gain most first, and what each is for.

    ``output`` is the option with the output, empty for the usual one. ``finds`` tells whether a program is installed.
    Before a site ``is_built`` the first command builds it: the others ask for that. Exports go to ``adapted``. What
    ``is_exported`` is there to be looked at.
    """
    server = next((name for name in ("nginx", "apache2", "caddy", "lighttpd") if finds(name)), None)
    build = Finding(f"adaptc build {docroot}{output}", "builds the site's levels; nothing in it is changed")
    see = Finding(
        f"adaptc build {docroot}{output} --browser", "its pages are written by scripts: a browser sees what they show"
    )
    web = Finding(
        f"adaptc web {docroot} {adapted}{output}",
        f"the same site with smaller images and pages, in {adapted}/, to be published in place of it",
    )
    emit = Finding(
        f"adaptc emit {server.removesuffix('2') if server else 'nginx'}{output}",
        "configuration by which the server sends what was compressed ahead of time, and a switch for crowds",
    )
    prove = Finding(f"adaptc prove{output}", "a browser compares pages at every level with the original")
    look = Finding(f"adaptc preview{output}", "two levels side by side in your browser")
    is_written = surroundings.app is not None and not surroundings.app.is_rendered
    needs_files = surroundings.sends_files or server is None
    first = [see] if is_written and has_browser else [] if is_built or needs_files else [build]
    first += [web] if needs_files else [emit, web]
    return [*([] if is_exported else first), *([prove] if has_browser else []), look][:3]
