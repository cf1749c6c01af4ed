"""Files that servers run or complete before they send them: copies would show their source."""

from __future__ import annotations

from adaptc.core import media
from adaptc.core.fs import Entry, Tree

_LANGUAGES = {
    "PHP": ("php", "php3", "php4", "php5", "php7", "php8", "phtml", "phps", "phar"),
    "ASP": ("asp", "aspx", "ascx", "ashx", "asmx", "cshtml"),
    "JSP": ("jsp", "jspx", "jsf"),
    "ColdFusion": ("cfm", "cfml"),
    "CGI": ("cgi", "fcgi"),
    "server-side includes": ("shtml", "shtm", "stm"),
}
_BY_EXTENSION = {extension: language for language, names in _LANGUAGES.items() for extension in names}
_CGI_DIRECTORIES = ("cgi-bin", "fcgi-bin")


def program_kind(tree: Tree, entry: Entry, *, is_known: bool = False) -> str | None:
    """Return what kind of program a file is, ``None`` for a file that is sent as it is. Raises ``OSError``.

    The last extension decides, and the directory. A page that is executable and begins with ``#!`` is a program, too;
    scripts for downloading are not. One that ``is_known`` is as it was when it was no program.
    """
    *directories, name = entry.path.split("/")
    kind = _BY_EXTENSION.get(name.rpartition(".")[2].lower()) if "." in name else None
    if kind is None and not set(directories).isdisjoint(_CGI_DIRECTORIES):
        kind = "CGI"
    if kind is None and not is_known and entry.is_executable and media.by_name(entry.path) in (media.HTML, media.XHTML):
        kind = "CGI" if tree.read_start(entry.path, 2) == b"#!" else None
    return kind
