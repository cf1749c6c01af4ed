"""What a request and a kilobyte cost today: the CPU time of nginx, and the time that a visitor on a phone line waits.

Pages load style sheets of random text: from none to many of 1 kB, and a few of more. nginx sends them over HTTP/1.1,
and over HTTP/2 with TLS. The cost of the server is the CPU time of its process (/proc/PID/schedstat) for views by
curl, each with a connection of its own. The cost of the visitor is the time until the load event in Chromium, on a line
of 1.6 Mbit/s with 150 ms of latency (the settings of Lighthouse). Of each page the least of several rounds counts.
Least squares over the pages give p + aR + bW (adaptc.config.config.DELIVERY). Needs nginx, curl, openssl, Chromium, and
the extra "browser".
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright
from serving import cpu_ns

LINE = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
# Style sheets of a page, and kilobytes of each
PAGES = ((0, 0), (4, 1), (8, 1), (16, 1), (32, 1), (4, 10), (8, 10), (2, 50))
VIEWS = 20  # in a row, of which the CPU time is taken
CONFIGURATION = """
daemon off; master_process off; pid {place}/pid; error_log {place}/error.log;
events {{ worker_connections 512; }}
http {{
  types {{ text/html html; text/css css; }}
  access_log off; client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fcgi;
  uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
  ssl_certificate {place}/certificate.pem; ssl_certificate_key {place}/key.pem;
  server {{ listen 127.0.0.1:{plain}; root {place}/site; }}
  server {{ listen 127.0.0.1:{secure} ssl http2; root {place}/site; }}
}}
"""


def write_site(place: Path) -> None:
    """Write the pages and their sheets, which no coding would make smaller."""
    generator = random.Random(1)
    for number, (sheets, kilobytes) in enumerate(PAGES):
        links = []
        for sheet in range(sheets):
            links.append(f'<link rel=stylesheet href="{number}-{sheet}.css">')
            content = f"/*{generator.randbytes(kilobytes * 500).hex()}*/"
            (place / f"{number}-{sheet}.css").write_text(content)
        (place / f"{number}.html").write_text(f"<!DOCTYPE html><title>{number}</title>{''.join(links)}<p>Text")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def served(place: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Run nginx; yield its process and its addresses by protocol."""
    (place / "site").mkdir()
    write_site(place / "site")
    plain, secure = free_port(), free_port()
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost"]
    files = ["-keyout", place / "key.pem", "-out", place / "certificate.pem"]
    subprocess.run(["openssl", "req", "-x509", *key, *files], check=True, capture_output=True)
    (place / "nginx.conf").write_text(CONFIGURATION.format(place=place, plain=plain, secure=secure))
    command = ["nginx", "-p", place, "-c", place / "nginx.conf"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        try:
            time.sleep(1)
            yield running.pid, {"http1": f"http://127.0.0.1:{plain}/", "http2": f"https://127.0.0.1:{secure}/"}
        finally:
            running.terminate()


def server_ms(process: int, address: str, number: int) -> float:
    """Return milliseconds of CPU for a view of a page."""
    sheets = [f"{address}{number}-{sheet}.css" for sheet in range(PAGES[number][0])]
    urls = [part for url in (f"{address}{number}.html", *sheets) for part in ("-o", os.devnull, url)]
    command = ["curl", "-sk", "--parallel", "--parallel-max", "6", *urls]
    before = cpu_ns(process)
    for _ in range(VIEWS):
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # the progress of parallel transfers
    return (cpu_ns(process) - before) / VIEWS / 1e6


def visitor_ms(browser: Browser, address: str, number: int) -> float:
    """Return milliseconds until the load event of a page."""
    context = browser.new_context(ignore_https_errors=True)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", LINE)
    page.goto(f"{address}{number}.html", wait_until="load", timeout=120_000)
    taken = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventStart")
    context.close()
    return float(taken)


def fit(measure: Callable[[int], float], rounds: int) -> tuple[float, float, float]:
    """Return p, a and b in milliseconds."""
    least = [min(measure(number) for _ in range(rounds)) for number in range(len(PAGES))]
    rows = np.array([[1.0, 1 + sheets, sheets * kilobytes] for sheets, kilobytes in PAGES])
    weights = 1 / np.array(least)
    p, a, b = np.linalg.lstsq(rows * weights[:, None], np.ones(len(rows)), rcond=None)[0]
    return float(p), float(a), float(b)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chromium", default=shutil.which("chromium"))
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as scratch,
        served(Path(scratch)) as (process, addresses),
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox"])
        for name, address in addresses.items():
            for side, measure in (
                ("server", partial(server_ms, process, address)),
                ("visitor", partial(visitor_ms, browser, address)),
            ):
                p, a, b = fit(measure, given.rounds)
                print(f"{name} {side}: p, a, b = {p:.3f}, {a:.4f}, {b:.5f} ms; a request is worth {a / b:.1f} kB")
        browser.close()


if __name__ == "__main__":
    main()
