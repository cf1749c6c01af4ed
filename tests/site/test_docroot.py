"""Loading a docroot: what is part of the site, and what is said of the rest."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sites.memory import MemoryTree

from adaptc.core import media
from adaptc.core.fs import DiskTree, Entry
from adaptc.site.docroot import Docroot, load_directory
from adaptc.site.selection import Selection


def load(root: Path, *exclude: str, hidden: bool = False) -> Docroot:
    return load_directory(DiskTree(root), Selection(exclude, hidden))


def load_including(root: Path, *include: str) -> Docroot:
    return load_directory(DiskTree(root), Selection(include=include))


def write(root: Path, *paths: str, content: str = "x") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def aliases(docroot: Docroot) -> dict[str, str | None]:
    return {path: one.alias_of for path, one in docroot.resources.items() if one.alias_of is not None}


def said(docroot: Docroot) -> list[tuple[str, str]]:
    return [(one.id, one.location.path if one.location else "") for one in docroot.diagnostics]


def test_files_in_the_order_of_their_paths(tmp_path: Path) -> None:
    write(tmp_path, "b.html", "a/z.css", "a.html", "a/b/c.js", "README")
    found = load(tmp_path)
    assert list(found.resources) == ["README", "a.html", "a/b/c.js", "a/z.css", "b.html"]
    assert found.diagnostics == []
    status = (tmp_path / "a.html").stat()
    page = found.resources["a.html"]
    assert (page.size, page.mtime_ns, page.inode) == (1, status.st_mtime_ns, status.st_ino)
    assert (page.media_type, page.alias_of) == (media.HTML, None)


def test_a_name_without_a_type_is_looked_into(tmp_path: Path) -> None:
    write(tmp_path, "page", content="<!DOCTYPE html><p>")
    write(tmp_path, "README", content="words")
    found = load(tmp_path).resources
    assert (found["page"].media_type, found["README"].media_type) == (media.HTML, media.BINARY)


def test_hidden_names_are_left_out_but_for_the_one_that_servers_publish(tmp_path: Path) -> None:
    write(
        tmp_path, ".htpasswd", "a/.secret/x", ".well-known/security.txt", ".well-known/.x", ".well-known-not/x", "a/b"
    )
    assert list(load(tmp_path).resources) == [".well-known/security.txt", "a/b"]
    found = load(tmp_path, hidden=True)
    assert len(found.resources) == 5
    assert said(found) == [("private-name", ".htpasswd")]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("*.bin", ["a/drafts/x.html", "drafts/x.html", "x.html"]),
        ("drafts", ["a/x.bin", "x.bin", "x.html"]),
        ("drafts/", ["a/drafts/x.html", "a/x.bin", "x.bin", "x.html"]),
        ("a/drafts", ["a/x.bin", "drafts/x.html", "x.bin", "x.html"]),
        ("/x.*", ["a/drafts/x.html", "a/x.bin", "drafts/x.html"]),
        ("[xy].html", ["a/x.bin", "x.bin"]),
    ],
)
def test_excludes(tmp_path: Path, pattern: str, left: list[str]) -> None:
    write(tmp_path, "x.html", "x.bin", "a/x.bin", "drafts/x.html", "a/drafts/x.html")
    assert list(load(tmp_path, pattern).resources) == left


# ---- symbolic links


def test_links_to_files_are_aliases(tmp_path: Path) -> None:
    write(tmp_path, "a/real.html")
    (tmp_path / "alias.html").symlink_to("a/real.html")
    (tmp_path / "a/second").symlink_to("../alias.html")
    (tmp_path / "absolute.css").symlink_to(tmp_path / "a/real.html")
    found = load(tmp_path)
    assert aliases(found) == dict.fromkeys(["a/second", "absolute.css", "alias.html"], "a/real.html")
    assert found.resources["absolute.css"].media_type == media.CSS
    assert found.resources["alias.html"].inode == found.resources["a/real.html"].inode


def test_links_to_directories_make_aliases_of_what_is_in_them(tmp_path: Path) -> None:
    write(tmp_path, "v2/a.html", "v2/sub/b.html", "shared/s.css")
    (tmp_path / "latest").symlink_to("v2")
    (tmp_path / "v2/styles").symlink_to("../shared")
    assert aliases(load(tmp_path)) == {
        "latest/a.html": "v2/a.html",
        "latest/styles/s.css": "shared/s.css",
        "latest/sub/b.html": "v2/sub/b.html",
        "v2/styles/s.css": "shared/s.css",
    }


def test_links_that_lead_back_are_followed_once(tmp_path: Path) -> None:
    write(tmp_path, "a/x", "b/y")
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "a/self").symlink_to(".")
    (tmp_path / "a/b").symlink_to("../b")
    (tmp_path / "b/a").symlink_to("../a")
    found = load(tmp_path)
    assert aliases(found) == {"a/b/y": "b/y", "b/a/x": "a/x"}
    assert sorted(set(said(found))) == [
        ("symlink-loop", "a/b/a"),
        ("symlink-loop", "a/self"),
        ("symlink-loop", "a/up"),
        ("symlink-loop", "b/a/b"),
        ("symlink-loop", "b/a/self"),
        ("symlink-loop", "b/a/up"),
    ]


def test_links_that_are_refused(tmp_path: Path) -> None:
    docroot = tmp_path / "site"
    write(tmp_path, "secret", "site-too/x", "site/.hidden/x", "site/.htpasswd", "site/old/x")
    for name, target in {
        "outside": "../secret",
        "directory": "../site-too",
        "hidden": ".htpasswd",
        "in-hidden": ".hidden/x",
        "excluded": "old",
        "broken": "nowhere",
        "beyond": "old/x/y",
        "loop": "loop",
    }.items():
        (docroot / name).symlink_to(target)
    found = load(docroot, "old")
    assert found.resources == {}
    assert said(found) == [
        ("symlink-broken", "beyond"),
        ("symlink-broken", "broken"),
        ("symlink-outside", "directory"),
        ("symlink-outside", "excluded"),
        ("symlink-outside", "hidden"),
        ("symlink-outside", "in-hidden"),
        ("symlink-loop", "loop"),
        ("symlink-outside", "outside"),
    ]
    assert "nowhere" in found.diagnostics[1].message


def test_excludes_hold_for_where_a_link_leads(tmp_path: Path) -> None:
    write(tmp_path, "data/open", "data/secret")
    (tmp_path / "pub").symlink_to("data")
    assert list(load(tmp_path, "data/secret").resources) == ["data/open", "pub/open"]


# ---- what is no file, or cannot be read


def test_special_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.html")
    (tmp_path / "link").symlink_to("fifo.html")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))
        found = load(tmp_path)
    assert found.resources == {}
    assert [str(one) for one in found.diagnostics] == [
        "fifo.html: warning: is a fifo, not a file; it is left out [special-file]",
        "link: warning: is a fifo, not a file; it is left out [special-file]",
        "socket: warning: is a socket, not a file; it is left out [special-file]",
    ]


class Refusing(MemoryTree):
    """A tree that refuses some paths, as a disk does without permission."""

    def __init__(self, files: dict[str, bytes], *refused: str) -> None:
        super().__init__(files)
        self.refused = refused

    def _check(self, path: str) -> None:
        if path in self.refused:
            raise PermissionError(errno.EACCES, "Permission denied", path)

    def list_directory(self, path: str) -> list[Entry]:
        self._check(path)
        return super().list_directory(path)

    def read(self, path: str) -> bytes:
        self._check(path)
        return super().read(path)


def test_what_cannot_be_read_is_left_out() -> None:
    tree = Refusing({"a.html": b"", "closed/b.html": b"", "README": b"", "closed.html": b""}, "closed", "README")
    found = load_directory(tree)
    assert list(found.resources) == ["a.html", "closed.html"]  # by its name it is a page: read when it is built
    assert said(found) == [("unreadable-file", "README"), ("unreadable-directory", "closed")]
    assert "Permission denied" in found.diagnostics[0].message


def test_the_docroot_itself_cannot_be_listed() -> None:
    assert said(load_directory(Refusing({}, ""))) == [("unreadable-directory", ".")]


UNREADABLE = """
import os, sys
from adaptc.core.fs import DiskTree
from adaptc.site.docroot import load_directory
root = sys.argv[1]
os.chmod(root + "/closed", 0)
os.chmod(root + "/README", 0)
os.chmod(root + "/a.html", 0)
if os.geteuid() == 0:  # root may read everything
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
found = load_directory(DiskTree(root))
print(*found.resources)
print(*sorted(one.id + " " + str(one.location) for one in found.diagnostics), sep="\\n")
"""


def test_what_cannot_be_read_on_disk(common: Path) -> None:
    write(common, "a.html", "README", "closed/inner.html", "open.html")
    (common / "behind").symlink_to("closed/inner.html")
    done = subprocess.run([sys.executable, "-c", UNREADABLE, common], capture_output=True, text=True)
    (common / "closed").chmod(0o755)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "open.html",
        "unreadable-directory closed",
        "unreadable-file README",
        "unreadable-file a.html",
        "unreadable-file behind",
    ]


# ---- names


def test_names_that_differ_in_case_only(tmp_path: Path) -> None:
    write(tmp_path, "Page.html", "page.html", "straße", "STRASSE", "other")
    assert said(load(tmp_path)) == [("case-collision", "page.html"), ("case-collision", "straße")]


def test_names_of_any_bytes(tmp_path: Path) -> None:
    names = ["a\nb.html", "'\".css", "100%.js", ";x", "-rf", "x" * 255, os.fsdecode(b"\xff\xfe.html"), "\\", " "]
    write(tmp_path, *names)
    found = load(tmp_path)
    assert sorted(found.resources) == sorted(names)
    assert found.resources["a\nb.html"].media_type == media.HTML


def test_a_tree_deeper_than_the_stack(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("deepest", os.O_CREAT, dir_fd=here))
    os.close(here)
    found = load(tmp_path)
    subprocess.run(["rm", "-r", tmp_path / "d"], check=True)
    assert [len(path) for path in found.resources] == [3007]
    assert found.diagnostics == []


def test_a_path_longer_than_the_system_takes(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=here)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    found = load(tmp_path)
    assert [one.id for one in found.diagnostics] == ["unreadable-directory"]
    assert "File name too long" in found.diagnostics[0].message
    subprocess.run(["rm", "-r", tmp_path / ("d" * 200)], check=True)


def test_what_nobody_may_read_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.html", "b.html", "c/d.html", "e.html")
    (tmp_path / "link.html").symlink_to("b.html")
    (tmp_path / "b.html").chmod(0)
    (tmp_path / "c").chmod(0o300)
    site = load(tmp_path)
    assert list(site.resources) == ["a.html", "e.html"]
    assert sorted(said(site)) == [
        ("unreadable-directory", "c"),
        ("unreadable-file", "b.html"),
        ("unreadable-file", "link.html"),
    ]


# ---- what is no content by its name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.pl", "server-program"),
        ("a.py", "server-program"),
        ("a.rb", "server-program"),
        ("a.pht", "server-program"),
        ("a.phar", "server-program"),
        ("a.PHP", "server-program"),
        ("a.php7", "server-program"),
        ("a.phtml.de", "server-program"),
        ("a.cfc", "server-program"),
        ("CGI-BIN/a.html", "server-program"),
        ("deep/Cgi-Bin/a", "server-program"),
        ("fcgi-bin/a.js", "server-program"),
        ("web.config", "private-name"),
        ("Web.Config", "private-name"),
        ("php.ini", "private-name"),
        ("adaptc.toml", "private-name"),
        ("a.html~", "private-name"),
        ("a.html.bak", "private-name"),
        ("a.html.orig", "private-name"),
        ("a.html.save", "private-name"),
        ("a.old", "private-name"),
        ("#a.html#", "private-name"),
        ("a.php_", "private-name"),
        ("_darcs/a", "private-name"),
    ],
)
def test_names_that_are_no_content(tmp_path: Path, name: str, kind: str) -> None:
    write(tmp_path, name, "page.html")
    found = load(tmp_path)
    assert list(found.resources) == ["page.html"]
    assert said(found) == [(kind, name)]
    assert found.withheld == [name]
    assert set(load_including(tmp_path, name.rpartition("/")[2]).resources) == {name, "page.html"}


@pytest.mark.parametrize("name", [".htaccess", ".user.ini", ".env", ".env.local", ".git/config", ".svn/x", ".ssh/id"])
def test_settings_are_no_content_even_where_hidden_names_are(tmp_path: Path, name: str) -> None:
    write(tmp_path, name)
    assert load(tmp_path).resources == {}
    assert said(load(tmp_path, hidden=True)) == [("private-name", name)]


@pytest.mark.parametrize(
    "name",
    [
        "app.bin", "setup.sh", "archive.tar.gz", "README", "index.html.de", "index.html.ru.koi8-r", "a.py.html",
        "module.pl.txt", "jquery.min.js", "photo.old.jpg", "git/config", "cgi/a.html", "environment",
    ],
)  # fmt: skip
def test_names_that_are_content(tmp_path: Path, name: str) -> None:
    write(tmp_path, name)
    assert list(load(tmp_path).resources) == [name]


def test_a_link_does_not_rename_a_program(tmp_path: Path) -> None:
    write(tmp_path, "a.py", ".x/b.py")
    (tmp_path / "a.txt").symlink_to("a.py")
    assert load(tmp_path).resources == {}


@pytest.mark.parametrize("name", ["run", "run.txt", "run.html", "download.sh", "image.png"])
def test_whatever_runs_is_a_program(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, content="#!/bin/sh\nsecret")
    assert list(load(tmp_path).resources) == [name]
    for mode in (0o755, 0o645, 0o654):
        (tmp_path / name).chmod(mode)
        assert said(load(tmp_path)) == [("server-program", name)]
    write(tmp_path, name, content="no program, whatever the disk says")
    assert list(load(tmp_path).resources) == [name]


# ---- modes


def test_files_that_others_may_not_read(tmp_path: Path) -> None:
    write(tmp_path, "a.html", "b.html", "in/a.html", "in/b.css", "closed/deep/x.html", "closed/y.html")
    for path in ("b.html", "in/b.css"):
        (tmp_path / path).chmod(0o640)
    (tmp_path / "closed").chmod(0o700)
    found = load(tmp_path)
    assert list(found.resources) == ["a.html", "in/a.html"]
    assert sorted(said(found)) == [("closed-mode", "."), ("closed-mode", "closed"), ("closed-mode", "in")]
    assert "holds 2 files" in next(str(each) for each in found.diagnostics if str(each).startswith("closed"))
    assert sorted(found.withheld) == ["b.html", "closed/deep/x.html", "closed/y.html", "in/b.css"]
    assert list(load_including(tmp_path, "closed").resources) == [
        "a.html", "closed/deep/x.html", "closed/y.html", "in/a.html"
    ]  # fmt: skip


def test_a_link_does_not_open_a_file(tmp_path: Path) -> None:
    write(tmp_path, "a.html", "closed/b.html", "c.html")
    (tmp_path / "closed").chmod(0o700)
    (tmp_path / "c.html").chmod(0o600)
    (tmp_path / "link.html").symlink_to("closed/b.html")
    (tmp_path / "other.html").symlink_to("c.html")
    (tmp_path / "way").symlink_to("closed")
    assert list(load(tmp_path).resources) == ["a.html"]


def test_where_nothing_is_open_modes_say_nothing(tmp_path: Path) -> None:
    site = tmp_path / "home/site"
    write(site, "a.html", "in/b.html")
    for path in ("a.html", "in/b.html"):
        (site / path).chmod(0o600)
    (site / "in").chmod(0o700)
    assert list(load(site).resources) == ["a.html", "in/b.html"]
    (tmp_path / "home").chmod(0o700)
    (site / "a.html").chmod(0o644)
    assert list(load(site).resources) == ["a.html"]
