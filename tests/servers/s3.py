"""An S3 server on this machine (moto), with a bucket that everybody may read, as those of websites."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.parse import quote

import pytest

_BUCKETS = count(1)


@dataclass(frozen=True)
class Bucket:
    """A bucket with a name of its own."""

    endpoint: str
    name: str

    @property
    def url(self) -> str:
        return f"s3://{self.name}"

    def get(self, path: str) -> tuple[bytes, Message]:
        """Return what a visitor gets: the body as it is sent, and the header."""
        with urllib.request.urlopen(f"{self.endpoint}/{self.name}/{quote(path)}") as response:
            return response.read(), response.headers


@contextmanager
def s3_server() -> Iterator[str]:
    """Yield the endpoint of a server that listens on a free port."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@contextmanager
def refusing_server(status: int, code: str) -> Iterator[str]:
    """Yield the endpoint of a server that answers every request with an error of S3."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>It says {code}.</Message></Error>".encode()

    class Refusing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # in which a client may ask first whether to send a file

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    for method in ("GET", "PUT", "POST", "DELETE"):
        setattr(Refusing, f"do_{method}", Refusing.answer)
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def new_bucket(endpoint: str) -> Bucket:
    """Make a bucket whose objects everybody may read."""
    bucket = Bucket(endpoint, f"site-{next(_BUCKETS)}")
    place = f"{endpoint}/{bucket.name}"
    rule = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket.name}/*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [rule]})
    for url, body in ((place, ""), (f"{place}?policy", policy)):
        request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"}, method="PUT")
        urllib.request.urlopen(request).close()
    return bucket


def use_endpoint(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    """Have libraries find the server and credentials for it, as users have it, in the environment."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    pytest.importorskip("s3fs").S3FileSystem.clear_instance_cache()
