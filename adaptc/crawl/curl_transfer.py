"""One transfer over libcurl: collects head and body, and sets a handle's timeouts, proxies, certificates, cookies."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import IO

import pycurl

from adaptc.core.diagnostics import UsageError
from adaptc.crawl.http import Head, Request, parse_head
from adaptc.crawl.options import NetworkOptions
from adaptc.crawl.scope import Refusal

SPOOLED = 1 << 20  # bytes of a body that are kept in memory; the rest goes to a file


class Transfer:
    """What one libcurl handle has under way: collects head and body as libcurl hands them over.

    ``lines`` are those of every head: libcurl may send several requests for one (100 Continue, 401 before a Digest,
    CONNECT to a proxy), and passes the body of the last on. ``settings`` are the method and the fields that the handle
    is set to, and whether those that are secret are among them and ``~/.netrc`` may be used.
    """

    __slots__ = (
        "chunks", "file", "head", "is_dropped", "lines", "received", "refused", "request", "sent", "settings",
        "unanswered",
    )  # fmt: skip

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.chunks: list[bytes] = []
        self.sent: list[bytes] = []
        self.settings: tuple[str, tuple[str, ...], bool, bool] | None = None

    def begin(self, request: Request) -> None:
        """Get ready for a request."""
        self.request = request
        self.lines.clear()
        self.chunks.clear()
        self.sent.clear()
        self.head: Head | None = None
        self.file: IO[bytes] | None = None
        self.received = 0
        self.refused: Refusal | None = None
        self.is_dropped = False
        self.unanswered = -1  # lines that had come when the last request was sent

    def parsed(self) -> Head:
        """Return the last head."""
        if self.head is None:
            self.head = parse_head(b"".join(self.lines[self._last_head() :]))
        return self.head

    def _last_head(self) -> int:
        """Return the line that begins the last head."""
        first = len(self.lines) - 1
        while first > 0 and not self.lines[first].startswith(b"HTTP/"):
            first -= 1
        return max(first, 0)

    @property
    def challenged(self) -> bool:
        """Whether an earlier head asked for Basic, and not for Digest too."""
        fields = b"".join(self.lines[: self._last_head()]).lower()
        return b"www-authenticate: basic" in fields and b"www-authenticate: digest" not in fields

    def on_request(self, *_addresses: object) -> int:
        """Stop libcurl when it sends a request again that a connection was closed for: tries are counted elsewhere."""
        if self.unanswered == len(self.lines):
            self.is_dropped = True
            return int(pycurl.PREREQFUNC_ABORT)
        self.unanswered = len(self.lines)
        return int(pycurl.PREREQFUNC_OK)

    def on_body(self, chunk: bytes) -> int | None:
        """Take a piece of the body; -1 makes libcurl stop: the head says that it is not wanted."""
        if self.head is None:
            self.refused = self.request.admit(self.parsed())
        self.received += len(chunk)
        excess = self.received - self.request.most
        if excess > 0:
            self.refused = self.request.excess
            self.chunks.append(chunk[:-excess])  # the beginning of a robots.txt is read
        if self.refused is not None:
            return -1
        if self.file is not None:
            self.file.write(chunk)
        else:
            self.chunks.append(chunk)
            if self.received > SPOOLED and self.request.spool is not None:
                self._spill(self.request.spool)
        return None

    def _spill(self, path: str) -> None:
        """Go on in a file; the rest of one that was cut off is appended."""
        self.file = open(path, "ab" if self.parsed().status == 206 else "wb")  # noqa: SIM115
        self.file.write(b"".join(self.chunks))
        self.chunks.clear()

    def on_debug(self, kind: int, text: bytes) -> None:
        """Keep the heads of requests as they go out."""
        if kind == pycurl.INFOTYPE_HEADER_OUT:
            self.sent.append(text)


# ---- options of a handle

_ENCODINGS = "gzip, deflate, br, zstd"  # exactly those that ``http.decode_body`` undoes
_FAMILIES = {0: pycurl.IPRESOLVE_WHATEVER, 4: pycurl.IPRESOLVE_V4, 6: pycurl.IPRESOLVE_V6}
_NETSCAPE = "# Netscape HTTP Cookie File\n"


def set_up(curl: pycurl.Curl, options: NetworkOptions) -> None:
    """Set the options that hold for every request."""
    curl.setopt(pycurl.NOSIGNAL, 1)
    curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
    curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
    curl.setopt(pycurl.PATH_AS_IS, 1)  # the URL is serialised already; signatures may hold its exact spelling
    curl.setopt(pycurl.USERAGENT, options.user_agent)
    curl.setopt(pycurl.IPRESOLVE, _FAMILIES[options.family])
    curl.setopt(pycurl.IGNORE_CONTENT_LENGTH, 1 if options.ignore_length else 0)
    if options.ignore_length or not options.keep_alive:
        curl.setopt(pycurl.FORBID_REUSE, 1)
    if options.bind_address is not None:
        curl.setopt(pycurl.INTERFACE, f"host!{options.bind_address}")
    if options.cookies:
        curl.setopt(pycurl.COOKIEFILE, "")
    _set_times(curl, options)
    _set_proxy(curl, options)
    _set_certificates(curl, options)


def _set_times(curl: pycurl.Curl, options: NetworkOptions) -> None:
    curl.setopt(pycurl.CONNECTTIMEOUT_MS, int(options.connect_timeout * 1000))
    if options.read_timeout:
        curl.setopt(pycurl.LOW_SPEED_LIMIT, 1)
        curl.setopt(pycurl.LOW_SPEED_TIME, max(1, round(options.read_timeout)))


def _set_proxy(curl: pycurl.Curl, options: NetworkOptions) -> None:
    """Use the proxy of the options, or those of the environment (``http_proxy``, ``no_proxy``), or none."""
    if not options.use_proxy:
        curl.setopt(pycurl.PROXY, "")
        return
    if options.proxy is not None:
        curl.setopt(pycurl.PROXY, options.proxy)
    if options.no_proxy is not None:
        curl.setopt(pycurl.NOPROXY, options.no_proxy)
    if options.proxy_user is not None:
        curl.setopt(pycurl.PROXYUSERNAME, options.proxy_user)
        curl.setopt(pycurl.PROXYPASSWORD, options.proxy_password or "")


def set_authorities(curl: pycurl.Curl, options: NetworkOptions) -> None:
    """Set whom to trust; only for https, since Python's ssl takes 30 ms to import."""
    file, directory = _system_authorities()
    authorities = options.ca_certificate or file
    directory = str(options.ca_directory) if options.ca_directory else directory
    if authorities is not None:
        curl.setopt(pycurl.CAINFO, str(authorities))
    if directory is not None:
        curl.setopt(pycurl.CAPATH, directory)


@lru_cache(maxsize=1)
def _system_authorities() -> tuple[str | None, str | None]:
    """Return file and directory of this system's authorities: the libcurl of the wheels does not know them."""
    import ssl

    system = ssl.get_default_verify_paths()
    return system.cafile, system.capath


def _set_certificates(curl: pycurl.Curl, options: NetworkOptions) -> None:
    if not options.check_certificate:
        curl.setopt(pycurl.SSL_VERIFYPEER, 0)
        curl.setopt(pycurl.SSL_VERIFYHOST, 0)
    if options.certificate is not None:
        curl.setopt(pycurl.SSLCERT, str(options.certificate))
    if options.private_key is not None:
        curl.setopt(pycurl.SSLKEY, str(options.private_key))


def own_headers(options: NetworkOptions) -> list[str]:
    """Return the header lines of every request; one of the user's replaces ours, one without a value removes it."""
    lines = ["Accept: */*", "Expect:"]
    lines.append(f"Accept-Encoding: {_ENCODINGS}" if options.compression else "Accept-Encoding: identity")
    if options.ignore_length:
        lines.append("Connection: close")  # what no length ends, the end of the connection must
    named = {line.partition(":")[0].strip().lower() for line in options.headers}
    ours = [line for line in lines if line.partition(":")[0].lower() not in named]
    return [*ours, *options.headers]


def add_cookies(curl: pycurl.Curl, options: NetworkOptions) -> None:
    """Read the cookies of ``--load-cookies``, a file in Netscape's format. Raises ``UsageError``."""
    if options.load_cookies is None:
        return
    for line in _lines(options.load_cookies):
        if line and (not line.startswith("#") or line.startswith("#HttpOnly_")):
            curl.setopt(pycurl.COOKIELIST, line)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def cookie_lines(cookies: Iterable[str], options: NetworkOptions) -> str:
    """Return a Netscape file of cookies; those of the session (expiry 0) only where they are asked for."""
    lines = [line for line in cookies if options.keep_session_cookies or line.split("\t")[4] != "0"]
    return _NETSCAPE + "".join(f"{line}\n" for line in sorted(lines))
