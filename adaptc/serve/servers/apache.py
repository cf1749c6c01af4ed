"""Apache httpd 2.4: rules of mod_rewrite in a file that the site's <VirtualHost> includes.

Apache replaces ``${NAME}`` in each line when there is such a name (core, ``ap_resolve_env``); there is no escape, but a
name of ours that holds a dollar splits it. Most arguments take ``\\\\`` and ``\\"`` inside quotes. Those of mod_rewrite
do not: a quote ends at the next one. Patterns write it as ``\\x22``; test strings and substitutions, in which a
backslash takes the next character literally, have no quotes.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from adaptc.core.diagnostics import Diagnostic, Location, UsageError, diagnose
from adaptc.core.fs import DiskTree
from adaptc.core.media import BY_EXTENSION
from adaptc.core.urls import hashed_path, plain_path
from adaptc.formats.directives import Directive, Section, directives_in, usual_server_root
from adaptc.serve.accounts import account_of
from adaptc.serve.launch import SEARCH, program_of, run_quietly, unprivileged_user
from adaptc.serve.patterns import asks, literal
from adaptc.serve.policy import IDLE, OFF, Policy
from adaptc.serve.server import (
    EmittedFile,
    Examination,
    Filter,
    Installation,
    Instance,
    Launcher,
    Server,
    Setup,
    always,
)
from adaptc.site.apache_configuration import configured_rules
from adaptc.site.server_rules import ServerRule, ServerRules

# ---- what is emitted

# What Apache may call the types of files that it sends as they are. Types that are handlers (application/x-httpd-php)
# are none of them, so what they name is run, and not exchanged.
_ALIASES = (
    "application/javascript", "application/x-javascript", "application/ecmascript", "text/xml",
    "image/vnd.microsoft.icon", "application/font-woff", "application/font-woff2", "application/x-font-ttf",
    "application/x-font-otf", "font/sfnt", "application/vnd.ms-opentype", "application/xslt+xml",
    "text/x-component", "application/ld+json", "application/yaml", "application/geo+json",
    "application/vnd.geo+json", "text/x-markdown", "application/x-web-app-manifest+json",
    "application/octet-stream", "image/x-ms-bmp", "text/vcard", "text/vnd.wap.wml",
)  # fmt: skip
SENT_TYPES = tuple(sorted({*BY_EXTENSION.values(), *_ALIASES}))

# The combined log format, followed by: the time when the request came, how long it took, what was served to which class
_LOG = r"%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\" at=%{sec}t.%{msec_frac}t took=%{us}Tus"


def variables(policy: Policy) -> dict[str, Any]:
    """Return the variables of the templates, also of htaccess. Raises ``ValueError`` for a path that has no escape."""
    if "?" in policy.output:
        raise ValueError("a question mark, which begins a query in substitutions of mod_rewrite")
    fixed = not (policy.serve.buckets or policy.serve.classes)
    excluded = "|".join(["_adaptc/", *(f"{literal(path[1:])}(?:/|$)" for path in policy.excluded if path)])
    trees = f"{policy.prefix}{policy.serve.htaccess_trees}"
    return {
        "trees": trees,
        "trees_rw": rewrite_argument(trees),
        "trees_re": f"^{literal(policy.serve.htaccess_trees[1:])}/",
        "excluded_here": rf"[%?\#]|^(?:{excluded})",
        "modules": list(modules(policy)),
        "is_fixed": fixed,
        "adaptable": f"^{literal(policy.prefix)}(/(?!{excluded})[^?]*)$",
        "level_map": _level_map(policy),
        "off_map": _class_map(policy, IDLE),
        "asked": asks(policy.trees_asked, policy.codings),
        "root_rw": rewrite_argument(policy.output),
        "level_rw": policy.start if fixed else f"%{{ENV:{policy.name}_level}}",
        "log_format": _log_format(policy),
        "hashed_path": hashed_path(),
        "plain_path": plain_path(),
        "kept": _kept(policy),
        "repeated": list(_repeated(policy)),
        "contexts": ", ".join(map(expression_string, dict.fromkeys(("", "/", policy.prefix, f"{policy.prefix}/")))),
        "sent_types": SENT_TYPES,
    }


def _repeated(policy: Policy) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what .htaccess files say about fields of answers and HTTPS: a pattern of directories of copies, and lines.

    Raises ``ValueError`` for a path that has no escape.
    """
    for directory, lines in policy.repeated:
        place = f"/[^/]+/[^/]+/{literal(directory)}(?:/|$)" if directory else "/"
        pattern = f"^{literal(policy.output)}{place}"
        if "${" in pattern or "\n" in pattern:
            raise ValueError(f"a path that Apache reads otherwise ({directory})")
        yield pattern.replace("\\", "\\\\").replace('"', '\\"'), lines


def _kept(policy: Policy) -> list[str]:
    """Return the variables that the second pass of a request needs in addition to what is served."""
    kept = {"class": policy.serve.classes, "bucket": policy.serve.buckets, "versions": policy.version_levels}
    return [name for name, is_kept in kept.items() if is_kept]


def modules(policy: Policy) -> Iterator[str]:
    """Yield the modules that a policy needs, in alphabetical order."""
    if policy.server_checks:
        yield "actions"
    yield "headers"
    if policy.is_strict:
        yield "lua"
    if policy.serve.trusted_proxies:
        yield "remoteip"
    yield "rewrite"
    if policy.serve.status:
        yield "status"


def _level_map(policy: Policy) -> str:
    """Return the look-up of the level: that of the bucket ``%1``, or the one of every bucket; then of the client."""
    level = f"${{{policy.name}_buckets:%1|{policy.start}}}" if policy.serve.buckets else policy.start
    return _class_map(policy, level) if policy.serve.classes else level


def _class_map(policy: Policy, level: str) -> str:
    fallback = OFF if level == IDLE else policy.start
    return f"${{{policy.name}_trees:{level}:%{{ENV:{policy.name}_asked}}:%{{ENV:{policy.name}_class}}|{fallback}}}"


def _log_format(policy: Policy) -> str:
    name = policy.name
    keys = ("served", "class", *(["bucket"] if policy.serve.buckets else []))
    told = " ".join(f"{key}=%{{{name}_{key}}}e" for key in keys)
    return f'LogFormat "{_LOG} {told}" {name}'


def argument(text: str, dollar: str = "") -> str:
    """Return ``text`` as a quoted argument of a directive; ``dollar`` is a defined name that holds a dollar.

    Without ``dollar`` the text may contain ``${NAME}``. Raises ``ValueError`` for a line break.
    """
    _refuse_line_breaks(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped.replace("${", f"${{{dollar}}}{{") if dollar else escaped}"'


def expression_string(text: str) -> str:
    """Return ``text`` as a string of an expression (ap_expr), which knows variables, and a backslash as escape."""
    escaped = re.sub(r"([\\'%$])", r"\\\1", text)
    return f"'{escaped}'"


def header_format(text: str) -> str:
    """Return the value of a header field as the format of mod_headers, which reads percent signs and backslashes."""
    return argument(text.replace("\\", "\\\\").replace("%", "%%"))


def regex(pattern: str) -> str:
    """Return a regular expression as a quoted argument of RewriteCond or RewriteRule."""
    if '"' in pattern:
        raise ValueError("a quotation mark, which patterns of mod_rewrite must write as \\x22")
    return f'"{pattern}"'


def rewrite_argument(text: str) -> str:
    """Return ``text`` as a part of a test string or substitution of mod_rewrite, which has no quotes.

    Raises ``ValueError`` for a line break.
    """
    _refuse_line_breaks(text)
    return re.sub(r"""([\\$%{"'\s])""", r"\\\1", text)


def _refuse_line_breaks(text: str) -> None:
    if re.search(r"[\n\r\0]", text):
        raise ValueError("a line break")


def filters(policy: Policy) -> Mapping[str, Filter]:
    """Return the filters of the templates."""
    path = partial(argument, dollar=policy.dollar)
    return {
        "arg": argument,
        "path": path,
        "rewrite": rewrite_argument,
        "regex": regex,
        "expression": expression_string,
        "field": header_format,
    }


def is_plain(path: str) -> bool:
    """Whether <Directory> takes ``path`` literally: wildcards and backslashes have a meaning of their own."""
    return not re.search(r"[*?\[\]\\]", path)


# ---- how it is started

MODULE_FOLDERS = (
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/libexec/apache2",
)
# In addition to those that adaptc needs, the modules that .htaccess files of sites use most
MODULES = (
    *("mpm_event", "authn_core", "authn_file", "authz_core", "authz_host", "authz_user", "auth_basic", "access_compat"),
    *(
        "actions",
        "alias",
        "dir",
        "env",
        "expires",
        "headers",
        "mime",
        "remoteip",
        "rewrite",
        "setenvif",
        "unixd",
        "log_config",
    ),
)
SECURE_MODULES = ("ssl", "http2")
SYSTEM_TYPES = Path("/etc/mime.types")


def _configuration(instance: Instance, port: int) -> str:
    folder = _module_folder()
    secure = SECURE_MODULES if instance.certificate else ()
    present = [name for name in (*MODULES, *secure, *instance.modules) if (folder / f"mod_{name}.so").exists()]
    q = argument
    lines = [
        *(f"LoadModule {name}_module {q(str(folder / f'mod_{name}.so'))}" for name in present),
        *(f"{name} {q(str(value))}" for name, value in _settings(instance, port)),
        *([f"User {unprivileged_user()}"] if os.geteuid() == 0 else []),
        "<Directory />\nRequire all denied\nAllowOverride None\n</Directory>",
        f"<Directory {q(str(instance.docroot))}>",
        "Require all granted\nAllowOverride All\nOptions FollowSymLinks\n</Directory>",
        f"<VirtualHost *:{port}>",
        f"DocumentRoot {q(str(instance.docroot))}",
        f"DirectoryIndex {' '.join(map(q, instance.index)) or 'disabled'}",
        *([f"Alias {q(instance.prefix)} {q(str(instance.docroot))}"] if instance.prefix else []),
        *(f"Header always set {name} {q(value)}" for name, value in instance.headers),
        *_tls(instance),
        *(f"Include {q(str(file))}" for file in instance.includes),
        *([f"CustomLog {q(str(instance.root / 'access.log'))} {instance.log_format}"] if instance.log_format else []),
        "</VirtualHost>",
    ]
    return "\n".join(lines) + "\n"


def _tls(instance: Instance) -> Iterator[str]:
    if instance.certificate is not None:
        yield "SSLEngine on"
        yield f"SSLCertificateFile {argument(str(instance.certificate))}"
        if (_module_folder() / "mod_http2.so").exists():
            yield "Protocols h2 http/1.1"


def _module_folder() -> Path:
    folder = next((Path(path) for path in MODULE_FOLDERS if Path(path).is_dir()), None)
    if folder is None:
        raise UsageError(f"Apache's modules are in none of {', '.join(MODULE_FOLDERS)}")
    return folder


def _settings(instance: Instance, port: int) -> Iterator[tuple[str, object]]:
    root = instance.root
    yield from (("ServerRoot", root), ("PidFile", root / "pid"), ("ErrorLog", root / "error.log"))
    yield from (("ServerName", "localhost"), ("Listen", f"127.0.0.1:{port}"), ("TypesConfig", _media_types(root)))
    # One process is enough for a client that pipelines, and races occur in threads as well.
    yield from (("StartServers", 1), ("ThreadsPerChild", 16), ("MaxRequestWorkers", 16), ("MaxSpareThreads", 16))
    yield from (("MinSpareThreads", 1), ("ServerLimit", 1), ("MaxKeepAliveRequests", 0), ("KeepAliveTimeout", 30))


def _media_types(root: Path) -> Path:
    """Return the system's list of media types; where it has none, one of our own."""
    if SYSTEM_TYPES.exists():
        return SYSTEM_TYPES
    file = root / "mime.types"
    file.write_text("".join(f"{media_type} {suffix}\n" for suffix, media_type in BY_EXTENSION.items()))
    return file


def _command(program: str, _root: Path, file: Path, _port: int) -> list[str]:
    return [program, "-f", os.fspath(file), "-DFOREGROUND"]


# ---- how it is examined: by its own switches (httpd(8): -t, -D DUMP_...)

USUAL_FILES = ("/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf")
# The modules of directives that adaptc writes
MODULES_OF = {
    "RewriteEngine": "rewrite",
    "Header": "headers",
    "RequestHeader": "headers",
    "Action": "actions",
    "RemoteIPHeader": "remoteip",
    "LuaScope": "lua",
}


def inspect(file: Path | None, user: str | None) -> Setup:
    """Return the setup of Apache; ``file`` is its main file, None for the usual one. Raises ``UsageError``."""
    command = [_control(), *(["-d", str(usual_server_root(file)), "-f", str(file.absolute())] if file else [])]
    test = run_quietly([*command, "-t"])
    refusal = None if test.returncode == 0 else _error_message(test.stderr or test.stdout)
    run = run_quietly([*command, "-t", "-D", "DUMP_RUN_CFG"]).stdout
    included = re.findall(
        r"^\s+\((?:\*|\d+)\) (.+)$", run_quietly([*command, "-t", "-D", "DUMP_INCLUDES"]).stdout, re.M
    )
    main = str(file) if file else next(iter(included), _usual_file())
    configured = re.search(r'^User: name="([^"]*)"', run, re.M)
    return Setup(
        main,
        refusal,
        account_of(user or (configured[1] if configured else unprivileged_user())),
        frozenset(re.findall(r"^ (\w+)_module \(", run_quietly([*command, "-M"]).stdout, re.M)),
        tuple(line for path in dict.fromkeys(included or [main]) for line in directives_in(path)),
    )


def _control() -> str:
    """Return apachectl, which knows the environment that Debian's configuration needs; else the program itself."""
    return shutil.which("apachectl", path=SEARCH) or program_of(SERVER)


def _usual_file() -> str:
    return next((path for path in USUAL_FILES if Path(path).exists()), USUAL_FILES[0])


def _error_message(output: str) -> str:
    """Return Apache's error message in one line, without its remarks about names and those of apachectl."""
    lines = [line.strip() for line in output.splitlines()]
    remarks = ("AH00558", "Action '", "The Apache error log")
    return " ".join(line for line in lines if line and not line.startswith(remarks))


def _module_refused(refusal: str) -> tuple[str, str] | None:
    command = re.search(r"Invalid command '(\w+)'", refusal)
    module = MODULES_OF.get(command[1]) if command else None
    return (module, f"a2enmod {module}") if module else None


def _modules_missing(policy: Policy, present: frozenset[str]) -> Iterator[tuple[str, str]]:
    for name in modules(policy):
        if name not in present:
            yield f"mod_{name}", f"a2enmod {name}, or LoadModule {name}_module"


def _extensions(directives: Sequence[Directive]) -> set[str]:
    added = (line.args[1:] for line in directives if line.name in ("addtype", "addhandler"))
    lists = [line.args[0] for line in directives if line.name == "typesconfig" and line.args][-1:]
    listed = {extension for file in lists for extension in _listed(Path(file))}
    return listed | {arg.lstrip(".").lower() for args in added for arg in args}


def _listed(file: Path) -> Iterator[str]:
    """Yield the extensions of a list of media types; none when it cannot be read."""
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for line in lines:
        if not line.startswith("#"):
            yield from line.split()[1:]


def _type_directive(media_type: str, extension: str) -> str:
    return f"AddType {media_type} .{extension}"


def _refused_override(installation: Installation) -> Iterator[Diagnostic]:
    """Yield what the server must allow for the rules in the docroot's .htaccess."""
    if not installation.has_pasted:
        return
    allowed = _inherited(installation, "allowoverride") or ("none",)
    if not {"all", "fileinfo"} & {arg.lower() for arg in allowed}:
        yield _override(installation, "AllowOverride FileInfo")
    options = _inherited(installation, "options") or ("followsymlinks",)
    if not {"all", "followsymlinks", "+followsymlinks"} & {arg.lower() for arg in options}:
        yield _override(installation, "Options FollowSymLinks")


def _override(installation: Installation, fix: str) -> Diagnostic:
    docroot = installation.policy.docroot
    return diagnose("setup-override", Location(f"{docroot}/.htaccess"), fix=fix, docroot=docroot)


def _inherited(installation: Installation, name: str) -> tuple[str, ...] | None:
    """Return the arguments of a directive for the docroot: those in the narrowest <Directory> around it."""
    by_length: dict[int, tuple[str, ...]] = {}
    for directive in installation.setup.directives:
        section = directive.within[-1] if directive.within else None
        if directive.name == name and section is not None and section.name == "directory" and section.args:
            path = section.args[0].rstrip("/")
            if any(root == path or root.startswith(f"{path}/") for root in installation.docroots):
                by_length[len(path)] = directive.args
    return by_length[max(by_length)] if by_length else None


_SKIP = re.compile(r"S=to-([a-z]+)")
_LABEL = re.compile(r"# ([a-z]+):")


def count_skips(text: str) -> str:
    """Replace ``S=to-LABEL`` by the number of rules up to the line ``# LABEL:``, and drop those lines.

    A wrong number would skip rules of the site; this way no template can get it wrong. Raises ``ValueError`` for a
    label that does not follow.
    """
    lines = text.split("\n")
    labels = {match[1]: number for number, line in enumerate(lines) if (match := _LABEL.fullmatch(line))}
    return "\n".join(_counted(lines, labels))


def _counted(lines: list[str], labels: dict[str, int]) -> Iterator[str]:
    for number, line in enumerate(lines):
        skip = _SKIP.search(line)
        if skip is None:
            if number not in labels.values():
                yield line
        elif labels.get(skip[1], 0) <= number:
            raise ValueError(f"a skip to {skip[1]}, a label that does not follow")
        else:
            rules = sum(each.startswith("RewriteRule ") for each in lines[number + 1 : labels[skip[1]]])
            yield line.replace(skip[0], f"S={rules}")


# ---- access rules and other directives that apply to originals, but not to their copies in the trees
#
# A build leaves such files out (``adaptc.site.server_rules``); here the server itself says which rules it has now.


def bypassed_rules(installation: Installation) -> Iterator[Diagnostic]:
    """Yield each rule that applies to a built file which nothing else protects."""
    policy = installation.policy
    own = [line for line in installation.setup.directives if not installation.is_own(line.file)]
    configured = tuple(configured_rules(own, installation.docroot, policy.prefix))
    rules = ServerRules(DiskTree(installation.docroot), installation.ignored_directives, policy.prefix, configured)
    reported = set[tuple[str, int]]()
    for path in installation.manifest.resources:
        rule = rules.rule_for(path)
        if rule is not None and not _is_protected(installation, f"/{path}"):
            place = _place(installation, rule)
            if (place.path, place.line or 0) not in reported:
                reported.add((place.path, place.line or 0))
                below = f"/{rule.directory}"
                yield diagnose("setup-access", place, rule=rule.text, below=below)


def _place(installation: Installation, rule: ServerRule) -> Location:
    file = os.path.join(installation.docroot, rule.directive.file)
    return Location(file, rule.directive.line)


def _is_protected(installation: Installation, url: str) -> bool:
    """Whether the emitted rules leave a path out, or a ``<Location>`` of the server restricts it."""
    return installation.policy.excludes(url) or any(
        _restricts(directive) and _is_location_of(section, f"{installation.policy.prefix}{url}")
        for directive in installation.setup.directives
        for section in directive.within
    )


def _restricts(directive: Directive) -> bool:
    return directive.name in ("require", "deny", "authtype") and directive.args[-1:] != ("granted",)


def _is_location_of(section: Section, url: str) -> bool:
    if section.name != "location" or not section.args:
        return False
    path = section.args[-1].rstrip("/")
    return url == path or url.startswith(f"{path}/")


def _has_status(policy: Policy) -> bool:
    return bool(policy.serve.status)


SERVER = Server(
    name="apache",
    title="Apache",
    files=(
        EmittedFile("apache.conf", is_included=always, finish=count_skips),
        EmittedFile("apache-status.conf", is_needed=_has_status, is_global=_has_status),
        EmittedFile("apache-trees.txt", is_needed=lambda policy: policy.serve.classes),
        EmittedFile("apache-fresh.lua", is_needed=lambda policy: policy.is_strict),
    ),
    variables=variables,
    filters=filters,
    tests={"plain": is_plain},
    uses_class_map=True,
    programs=("apache2", "httpd"),
    packages="apache2 (Debian), httpd (Fedora, Homebrew)",
    launcher=Launcher(
        configuration=_configuration,
        command=_command,
        modules=lambda policy: ("lua",) if policy.is_strict else (),
        omits=lambda path: "?" in path,  # Apache refuses it in a rewritten path
    ),
    examination=Examination(
        inspect=inspect,
        module_refused=_module_refused,
        modules_missing=_modules_missing,
        extensions=_extensions,
        type_directive=_type_directive,
        sets_formats=True,
        refused_override=_refused_override,
        bypassed_rules=bypassed_rules,
    ),
)
