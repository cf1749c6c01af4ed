"""Hostile requests: an answer must come, and contain nothing but what the site publishes."""

from __future__ import annotations

from collections.abc import Iterator

from adaptc.serve.verify.http_client import Request
from adaptc.serve.verify.negotiation import versions
from adaptc.serve.verify.scenario import BEST, Case, Target

# {url} is a page. ../ leads from the docroot, or from a directory LEVEL/CODING of the output.
TARGETS = (
    "/../../../../etc/passwd",
    "{prefix}/../manifest.json",
    "{prefix}/../../manifest.json",
    "{prefix}/../../run/buckets.txt",
    "{prefix}/%2e%2e/%2e%2e/manifest.json",
    "{prefix}/..%2f..%2fmanifest.json",
    "{prefix}/..%5c..%5cmanifest.json",
    "{prefix}/.%2e/.%2e/manifest.json",
    "{prefix}/_adaptc/../../../manifest.json",
    "{prefix}/_adaptc/%2e%2e/%2e%2e/%2e%2e/manifest.json",
    "{prefix}/_adaptc/..%2f..%2f..%2fmanifest.json",
    "{prefix}//etc/passwd",
    "{prefix}/%00",
    "{url}%00.txt",
    "{url}%0d%0aX-Injected:%20yes",
    "{url}/behind",
    "{url}%3f",
    "{url}%20",
    "{url}.br",
    "{url}.gz",
    "{prefix}/.htaccess",
    "{prefix}/%ff%fe",
    "{prefix}/" + "a" * 300,
    "{prefix}/" + "a/" * 300,
    "{prefix}/${{IFS}}%7B%25%7BHTTP_HOST%7D%7D",
    "http://other.invalid{url}",
    "*",
)
HEADERS = (
    {"Accept-Encoding": "../../run"},
    {"Accept-Encoding": "br/../../../manifest.json"},
    {"Accept-Encoding": "gzip;q=0;q=1,,,;;;=,\t*"},
    {"Accept-Encoding": "br, " * 500 + "gzip"},
    {"X-Server-Actions": "../../../manifest.json"},
    {"X-Server-Actions": ".poor/../../.."},
    {"X-Server-Actions": "${ENV:PATH} %{HTTP_HOST} $host"},
    {"X-Adapt": "lossless/br", "X-Class": "poor"},
    {"Range": "bytes=" + ",".join("0-1" for _ in range(200))},
    {"Range": "bytes=-99999999999999999999"},
    {"If-None-Match": '"' + "x" * 4000},
    {"If-Modified-Since": "yesterday"},
    {"Forwarded": "for=192.0.2.1", "X-Forwarded-For": "192.0.2.1, ../../.."},
)


def hostile_cases(prefix: str, target: Target) -> Iterator[Case]:
    """Yield hostile requests around a page. A body with status 200 must be the page, in any of its versions."""
    path, allowed = target.resource.path, tuple(versions(target.resource))
    for pattern in TARGETS:
        url = pattern.format(prefix=prefix, url=target.url)
        yield Case("hostile", "harmless", path, Request(url, {"Accept-Encoding": BEST}), allowed)
    for headers in HEADERS:
        if "Range" not in headers:
            yield Case("hostile", "harmless", path, Request(target.url, headers), allowed)
        else:
            yield Case("hostile", "unbroken", path, Request(target.url, headers))
