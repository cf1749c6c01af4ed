"""What the emitted configuration costs: CPU microseconds a request of Apache and nginx, in turn with a plain server.

Every server of a kind runs at once, on its own port, and `ab` asks one after the other for a file of 4 kB, in short
rounds and another order each: noise of the machine hits all alike, and the 5th percentile is that of its quiet moments.
The time is that of all threads of the server (/proc/PID/task/*/schedstat). The plain server sends a file of the same
size. Apache looks for no .htaccess files (Debian's default); where it does, a plain server is slower, for it does not
look in the trees. --stress instead compares the CPU time of 10,000 requests for a file of 716 bytes at 1 to 1,000
connections, as Figure 2 of Krishnamurthy, Zhang, Wills and Vishwanath 2003 does. Needs root or a user that both servers
can start as, and `ab`.
"""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.servers import web
from tests.servers.web import Server
from tests.sites.built import BuiltSite

from adaptc.daemons.classify.tables import WRITERS, Table
from adaptc.daemons.run_directory import RunDirectory
from adaptc.serve.emitter import emit

BUILD = {
    "build__levels": ("full", "lossless", "poorer"),
    "levels__poorer": {"extends": "lossless", "number": 2, "promise": "words"},
    "site__exclude": ("left.html", "plain.html"),
}
ALL = {"buckets": True, "classes": True, "poor_level": "poorer", "rich_level": "full"}
STRICT = {"freshness": "strict"}


@dataclass(frozen=True)
class Setting:
    """A server under test: its settings of [serve], the page that is asked for, whether the flag is set."""

    name: str
    target: str
    settings: dict[str, object] | None
    flag: bool = True


SETTINGS = (
    Setting("plain", "/plain.html", None),
    Setting("flag absent", "/plain.html", {}, flag=False),
    Setting("flag set", "/page.html", {}),
    Setting("flag absent, access trees", "/plain.html", {"access": "trees"}, flag=False),
    Setting("flag set, access trees", "/page.html", {"access": "trees"}),
    Setting("flag set, original", "/left.html", {}),
    Setting("flag absent, strict", "/plain.html", STRICT, flag=False),
    Setting("flag set, strict", "/page.html", STRICT),
    Setting("buckets", "/page.html", {"buckets": True}),
    Setting("classes", "/page.html", {"classes": True, "poor_level": "poorer"}),
    Setting("buckets and classes", "/page.html", ALL),
    Setting("buckets, classes, reject", "/page.html", {**ALL, "reject": True}),
    Setting("all, no header", "/page.html", {**ALL, "expose": False}),
)
NGINX_ONLY = (
    Setting("all, geo", "/page.html", {**ALL, "nginx_classes": "geo"}),
    Setting("all, no file cache", "/page.html", {**ALL, "nginx_file_cache": False}),
)


# What chooses by flag, level and coding only
SMALL = {
    "caddy": (web.caddy, "import {}/serve/Caddyfile"),
    "lighttpd": (web.lighttpd, 'include "{}/serve/lighttpd.conf"'),
}


def made_site(root: Path) -> BuiltSite:
    """Return a site whose page is 4 kB in Brotli, and a plain file of that size."""
    words = random.Random(1)
    text = " ".join("".join(words.choices("etaoinshrdlu", k=words.randrange(2, 9))) for _ in range(1800))
    site = BuiltSite(root).write({"page.html": f"<!DOCTYPE html><html lang=en><title>Page</title><p>{text}</p></html>"})
    site.build(**BUILD)
    size = len(site.read("page.html", coding="br"))
    return site.write({"plain.html": "x" * size, "left.html": "x" * size})


@contextlib.contextmanager
def running(kind: str, site: BuiltSite, setting: Setting, root: Path, top: str = "") -> Iterator[Server]:
    """Start a server with a setting, on an output of its own; ``top`` is more of Apache's configuration."""
    http, inside, output = "", "", root
    if setting.settings is not None:
        output = root / "opt"
        shutil.copytree(site.output, output, symlinks=True)
        given = {f"serve__{key}": value for key, value in setting.settings.items()}
        emitted = emit(site.config(**BUILD, **given, output=output), [kind])
        state = Path(emitted.policy.state)
        if setting.settings.get("classes"):
            classes = {ipaddress.ip_network(f"10.{one}.0.0/16"): "poor" for one in range(200)}
            for form in ("txt", "dbm", "geo", "markers"):
                WRITERS[form](RunDirectory(state), Table({}, classes))
        if setting.flag:
            Path(emitted.policy.flag).touch()
        http = f"include {output}/serve/nginx-http.conf;"
        part = "nginx-server" if kind == "nginx" else "apache"
        inside = f"include {output}/serve/{part}.conf" + (";" if kind == "nginx" else "")
    if kind == "apache":
        with web.apache(root / "server", site.docroot, inside, top, override="None") as server:
            yield server
    elif kind in SMALL:
        start, snippet = SMALL[kind]
        with start(root / "server", site.docroot, snippet.format(output) if http else "") as server:
            yield server
    else:
        with web.nginx(root / "server", site.docroot, http, inside) as server:
            yield server


def cpu_ns(root: int) -> int:
    """Return the CPU time of a process and of all below it, in nanoseconds."""
    total = 0
    for task in Path(f"/proc/{root}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
        for child in (task / "children").read_text().split():
            total += cpu_ns(int(child))
    return total


def measured(server: Server, target: str, requests: int, connections: int = 2) -> float:
    """Return microseconds of CPU a request."""
    url = f"http://127.0.0.1:{server.port}{target}"
    before = cpu_ns(server.pid)
    command = [
        "ab",
        "-q",
        "-k",
        "-c",
        str(connections),
        "-n",
        str(requests),
        "-H",
        "Accept-Encoding: gzip, deflate, br",
        url,
    ]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    # Apache closes a few open connections when all its threads are busy
    if "Non-2xx" in said or int(said.partition("Failed requests:")[2].split()[0]) > requests // 10:
        raise SystemExit(said)
    return (cpu_ns(server.pid) - before) / requests / 1000


def rounds(
    kind: str, settings: tuple[Setting, ...], count: int, requests: int, seed: int = 1
) -> Iterator[dict[str, float]]:
    """Run all settings of a server in turn; yield the microseconds a request of each, round by round."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        Path(folder).chmod(0o755)
        site, order = made_site(Path(folder) / "site"), random.Random(seed)
        started = [
            (one, stack.enter_context(running(kind, site, one, Path(folder) / str(number))))
            for number, one in enumerate(settings)
        ]
        for _ in range(count):
            order.shuffle(started)
            yield {one.name: measured(server, one.target, requests) for one, server in started}


def compare(kind: str, settings: tuple[Setting, ...], count: int, requests: int) -> None:
    """Run all settings of a server in turn and print their quiet moments."""
    found = list(rounds(kind, settings, count, requests))
    times = {one.name: [each[one.name] for each in found] for one in settings}
    base = quiet(times["plain"])
    for name, own in times.items():
        print(f"{kind:7} {name:28} {quiet(own):6.2f} us  {quiet(own) - base:+6.2f}  (least {min(own):6.2f})")


def quiet(found: list[float]) -> float:
    """Return the 5th percentile."""
    return statistics.quantiles(found, n=20)[0]


def count_instructions(kind: str, settings: tuple[Setting, ...], requests: int) -> None:
    """Print the instructions of a kept-alive request, in user space: of many requests less those of few (callgrind)."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        site, base = made_site(Path(folder) / "site"), 0.0
        for number, one in enumerate(settings):
            with running(kind, site, one, Path(folder) / str(number)):
                pass  # for its configuration
            few, many = (callgrind(Path(folder) / str(number) / "server", kind, one.target, n) for n in (200, requests))
            own = (many - few) / (requests - 200)
            base = base or own
            print(f"{kind:7} {one.name:28} {own:9,.0f} instructions  {own - base:+9,.0f}", flush=True)


def callgrind(root: Path, kind: str, target: str, requests: int) -> int:
    """Run a configured server in one process below callgrind, and return the instructions for some requests."""
    single = {"apache": ["/usr/sbin/apache2", "-X", "-f", "apache2.conf"]}
    single["nginx"] = ["/usr/sbin/nginx", "-p", ".", "-c", str(root / "nginx.conf"), "-e", str(root / "error.log")]
    single["nginx"] += ["-g", "daemon off; master_process off;"]
    single["lighttpd"] = ["/usr/sbin/lighttpd", "-D", "-f", "lighttpd.conf"]
    command = list(single[kind])
    if kind != "nginx":
        command[-1] = str(root / command[-1])
    text = Path(command[-1] if kind != "nginx" else root / "nginx.conf").read_text()
    port = re.search(r"(?:127\.0\.0\.1:|server\.port = )(\d+)", text)
    assert port is not None
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    with subprocess.Popen([*tool, *command], stderr=subprocess.PIPE, text=True) as started:
        address = f"http://127.0.0.1:{port[1]}{target}"
        while subprocess.run(["curl", "-sfo", "/dev/null", address], check=False).returncode:
            time.sleep(0.2)
        asked = ["ab", "-q", "-k", "-c", "1", "-n", str(requests), "-H", "Accept-Encoding: br, gzip", address]
        subprocess.run(asked, check=True, capture_output=True)
        started.terminate()
        assert started.stderr is not None
        collected = re.findall(r"Collected : (\d+)", started.stderr.read())
    return max(map(int, collected))


CONNECTIONS = (1, 10, 100, 200, 400, 600, 800, 1000)
MANY = """
ServerLimit 16
StartServers 16
ThreadsPerChild 64
MaxRequestWorkers 1024
MinSpareThreads 1024
MaxSpareThreads 1024
ListenBacklog 1024
MaxKeepAliveRequests 0
KeepAliveTimeout 300
"""


def stressed(
    kind: str, count: int, connections: Sequence[int], requests: int = 10_000
) -> Iterator[tuple[int, float, float]]:
    """Yield the number of connections, and the microseconds of a small file without and with classes and buckets."""
    chosen = [one for one in SETTINGS if one.name in ("plain", "buckets and classes")]
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        Path(folder).chmod(0o755)
        site = made_site(Path(folder) / "site").write({"plain.html": "x" * 716, "left.html": "x" * 716})
        plain, full = (
            stack.enter_context(running(kind, site, one, Path(folder) / str(number), MANY))
            for number, one in enumerate(chosen)
        )
        for number in connections:
            for _ in range(count):
                before = measured(plain, "/plain.html", requests, number)
                yield number, before, measured(full, "/left.html", requests, number)


def stress(kind: str, count: int) -> None:
    """Print by how much classes and buckets lengthen the work for a small file, by the number of connections."""
    found: dict[int, list[tuple[float, float]]] = {}
    for number, before, after in stressed(kind, count, CONNECTIONS):
        found.setdefault(number, []).append((before, after))
    for number, pairs in found.items():
        more = statistics.median(after / before - 1 for before, after in pairs)
        took = statistics.median(before for before, _ in pairs)
        print(f"{kind:7} {number:5} connections: {took:5.1f} us, {more:+.0%}")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="*", default=["apache", "nginx"])
    parser.add_argument("--rounds", type=int, default=120)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--only", help="only the settings whose names hold this, and the plain server")
    parser.add_argument("--stress", action="store_true", help="many connections")
    parser.add_argument("--instructions", action="store_true", help="count them by callgrind; not of Caddy")
    given = parser.parse_args()
    for kind in given.servers:
        if given.stress:
            stress(kind, given.rounds)
            continue
        chosen = SETTINGS + (NGINX_ONLY if kind == "nginx" else ())
        kept = tuple(one for one in chosen if not given.only or given.only in one.name or one.settings is None)
        if kind in SMALL:
            kept = tuple(one for one in kept if set(one.settings or {}) <= {"access"})
        if given.instructions:
            count_instructions(kind, kept, given.requests)
        else:
            compare(kind, kept, given.rounds, given.requests)


if __name__ == "__main__":
    main()
