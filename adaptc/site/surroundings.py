"""What a site's surroundings say of it: the generator that makes it, and the host that publishes it.

Each finding has its reason. What two signs disagree on is not said: a first command is to be right, or to ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

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

# By generator: files of its project, and where it puts the site
_PROJECTS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("MkDocs", ("mkdocs.yml", "mkdocs.yaml"), "site"),
    ("Docusaurus", ("docusaurus.config.js", "docusaurus.config.ts"), "build"),
    ("Astro", ("astro.config.mjs", "astro.config.ts", "astro.config.js"), "dist"),
    ("Eleventy", (".eleventy.js", "eleventy.config.js", "eleventy.config.mjs", "eleventy.config.cjs"), "_site"),
    ("Next.js", ("next.config.js", "next.config.mjs", "next.config.ts"), "out"),
    ("Nuxt", ("nuxt.config.ts", "nuxt.config.js"), ".output/public"),
    ("Gatsby", ("gatsby-config.js", "gatsby-config.ts"), "public"),
    ("VitePress", (".vitepress/config.js", ".vitepress/config.ts", ".vitepress/config.mts"), ".vitepress/dist"),
    ("Hugo", ("hugo.toml", "hugo.yaml", "config/_default/hugo.toml"), "public"),
    ("Jekyll", ("_config.yml",), "_site"),
    ("Pelican", ("pelicanconf.py",), "output"),
    ("mdBook", ("book.toml",), "book"),
    ("Quarto", ("_quarto.yml",), "_site"),
    ("Sphinx", ("conf.py", "docs/conf.py", "docs/source/conf.py", "source/conf.py"), "_build/html"),
    ("Vite", ("vite.config.js", "vite.config.ts", "vite.config.mjs"), "dist"),
)
# Where generators put a site; the first that holds a page is taken.
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


def look_around(docroot: Path | None, project: Path) -> Surroundings:
    """Return what files say of a docroot, and of the directory of its project. What cannot be read says nothing."""
    page = _text(docroot / _INDEX) if docroot is not None else ""
    places = [each for each in (docroot, project) if each is not None]
    app = find_app(docroot, (_INDEX,)) if docroot is not None and docroot.is_dir() else None
    return Surroundings(_generator(docroot, project, page), _host(places, project), app)


def usual_docroot(base: Path) -> str | None:
    """Return the first of the usual folders below ``base`` that holds an index page, that of its generator first."""
    own = [folder for _, files, folder in _PROJECTS if any((base / file).is_file() for file in files)]
    names = dict.fromkeys([*own, *USUAL_DOCROOTS])
    return next((name for name in names if (base / name / "index.html").is_file()), None)


def _generator(docroot: Path | None, project: Path, page: str) -> Finding | None:
    for element in _META.findall(page):
        if match := _CONTENT.search(element):
            return Finding(" ".join(next(filter(None, match.groups())).split()), "a page's <meta name=generator>")
    if docroot is not None and (docroot / _SPHINX).is_file():
        return Finding("Sphinx", _SPHINX)
    found = [(name, file) for name, files, _ in _PROJECTS for file in files if (project / file).is_file()]
    return Finding(*found[0]) if found else None


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
        path = project / place
        files = sorted(path.glob("*.y*ml")) if path.is_dir() else [path] if path.is_file() else []
        for file in files:
            if re.search(pattern, _text(file), re.MULTILINE):
                yield Finding(host, file.relative_to(project).as_posix())


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
    docroot: str, output: str, surroundings: Surroundings, *, has_browser: bool, finds: Callable[[str], bool]
) -> list[Finding]:
    """Return up to three commands to paste, those that gain most first, and what each is for.

    ``output`` is the option with the output, empty for the usual one. ``finds`` tells whether a program is installed.
    """
    server = next((name for name in ("nginx", "apache2", "caddy", "lighttpd") if finds(name)), None)
    see = Finding(
        f"adaptc build {docroot}{output} --browser", "its pages are written by scripts: a browser sees what they show"
    )
    web = Finding(
        f"adaptc web {docroot} adapted{output}",
        "the same site with smaller images and pages, in adapted/, to be published in place of it",
    )
    emit = Finding(
        f"adaptc emit {server.removesuffix('2') if server else 'nginx'}{output}",
        "configuration by which the server sends what was compressed ahead of time, and a switch for crowds",
    )
    prove = Finding(f"adaptc prove{output}", "a browser compares pages at every level with the original")
    look = Finding(f"adaptc preview{output}", "two levels side by side in your browser")
    is_written = surroundings.app is not None and not surroundings.app.is_rendered
    first = [see] if is_written and has_browser else []
    first += [web] if surroundings.sends_files or server is None else [emit, web]
    return [*first, prove if has_browser else look, look][:3]
