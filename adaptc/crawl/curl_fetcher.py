"""HTTP/1.1 over libcurl: several transfers at once in one thread, connections kept alive.

Measured with 4,000 small files on loopback, CPU time a request: libcurl's multi interface 12 to 48 us, a bare asyncio
client without any of its features 23 to 34, aiohttp 116, httpx 2,000. libcurl also knows proxies, Basic and Digest,
netrc, cookies with the public suffix list, client certificates and both IP versions, which no Python client
combines. It does not follow redirects or decode content: those are decisions of the crawl.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pycurl

from adaptc.core.fs import write_atomic
from adaptc.crawl.curl_transfer import (
    Transfer,
    add_cookies,
    cookie_lines,
    own_headers,
    set_authorities,
    set_up,
)
from adaptc.crawl.http import Request, Response
from adaptc.crawl.options import NetworkOptions
from adaptc.crawl.weburl import Parts, parts_of

# wget's classes of errors, which are its exit codes
_NETWORK, _TLS, _PROTOCOL = "network", "tls", "protocol"
ERRORS = {
    pycurl.E_SSL_CONNECT_ERROR: _TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: _TLS,
    pycurl.E_SSL_CERTPROBLEM: _TLS,
    pycurl.E_SSL_CACERT_BADFILE: _TLS,
    pycurl.E_SSL_CIPHER: _TLS,
    pycurl.E_SSL_ISSUER_ERROR: _TLS,
    pycurl.E_FTP_WEIRD_SERVER_REPLY: _PROTOCOL,
    pycurl.E_UNSUPPORTED_PROTOCOL: _PROTOCOL,
    pycurl.E_TOO_MANY_REDIRECTS: _PROTOCOL,
}
# What another try would not change; a refused connection is among them unless --retry-connrefused (as in wget).
_FINAL = frozenset({
    pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CERTPROBLEM, pycurl.E_SSL_CACERT_BADFILE, pycurl.E_URL_MALFORMAT,
    pycurl.E_UNSUPPORTED_PROTOCOL, pycurl.E_COULDNT_RESOLVE_HOST, pycurl.E_COULDNT_RESOLVE_PROXY,
})  # fmt: skip
_UNCONNECTED = frozenset({
    pycurl.E_COULDNT_RESOLVE_HOST, pycurl.E_COULDNT_RESOLVE_PROXY, pycurl.E_COULDNT_CONNECT,
    *(code for code, kind in ERRORS.items() if kind == _TLS),
})  # fmt: skip
_TICK = 1.0  # seconds; libcurl's own timers are looked at this often at the least


class CurlFetcher:
    """Fetches with libcurl.

    ``starts`` are the URLs that the crawl begins with, for which credentials are. ``recording`` keeps the bytes of
    requests, for WARC files.
    """

    def __init__(self, options: NetworkOptions, starts: tuple[str, ...], *, recording: bool = False) -> None:
        self.options, self.recording = options, recording
        self.active = 0
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAX_HOST_CONNECTIONS, options.connections)
        self._multi.setopt(pycurl.M_MAXCONNECTS, max(options.all_connections, 4))
        self._share = pycurl.CurlShare()
        for shared in (pycurl.LOCK_DATA_COOKIE, pycurl.LOCK_DATA_DNS, pycurl.LOCK_DATA_SSL_SESSION):
            self._share.setopt(pycurl.SH_SHARE, shared)
        self._idle: list[pycurl.Curl] = []
        self._transfers: dict[pycurl.Curl, Transfer] = {}  # of every handle
        self._under_way: dict[pycurl.Curl, Transfer] = {}
        self._rate = _Rate(options.limit_rate)
        self._own = own_headers(options)
        self._credentials = Credentials(options, starts)
        secret = self._credentials.secret_fields
        self._public = [line for line in self._own if line not in secret]  # for any other host
        self._basic: set[str] = (
            set()
        )  # origins that were satisfied with Basic: it is sent without being asked for again
        self._cookies = self._created()
        self._idle.append(self._cookies)
        add_cookies(self._cookies, options)

    def start(self, request: Request) -> None:
        """Begin a request."""
        curl = self._idle.pop() if self._idle else self._created()
        transfer = self._under_way[curl] = self._transfers[curl]
        transfer.begin(request)
        self._ask(curl, request, transfer)
        self._multi.add_handle(curl)
        self.active += 1

    def poll(self, timeout: float) -> list[Response]:
        """Let the transfers go on; wait for the network when nothing has ended."""
        self._rate.pause()
        self._multi.perform()
        done = self._ended()
        if done or timeout <= 0:
            return done
        timer = self._multi.timeout() if self.active else -1
        self._wait(min(timeout, _TICK, timer / 1000 if timer >= 0 else _TICK))
        self._multi.perform()
        return self._ended()

    def _wait(self, seconds: float) -> None:
        """Wait for the network, or until requests may start."""
        if self.active:
            self._multi.select(seconds)
        else:
            time.sleep(seconds)

    def close(self) -> None:
        """End every connection; write cookies where the user asked for it."""
        if self.options.save_cookies is not None:
            lines = cookie_lines(self._cookies.getinfo(pycurl.INFO_COOKIELIST), self.options)
            write_atomic(str(self.options.save_cookies.absolute()), lines.encode(), 0o600)
        for curl in list(self._under_way):
            self._multi.remove_handle(curl)
        for curl in self._transfers:
            curl.close()
        self._multi.close()
        self._share.close()

    def _ended(self) -> list[Response]:
        done: list[Response] = []
        remaining = 1
        while remaining:
            remaining, fine, failed = self._multi.info_read()
            done.extend(self._finish(curl, 0, "") for curl in fine)
            done.extend(self._finish(curl, code, message) for curl, code, message in failed)
        return done

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> Response:
        transfer = self._under_way.pop(curl)
        self._multi.remove_handle(curl)
        self._idle.append(curl)
        self.active -= 1
        self._rate.spend(transfer.received)
        response = self._response(curl, transfer)
        if transfer.refused is not None:
            response.refused = transfer.refused
        elif code and not self._is_whole(code, transfer):
            response.error, response.message = ERRORS.get(code, _NETWORK), message
            response.is_final = code in _FINAL or (code == pycurl.E_COULDNT_CONNECT and not self.options.retry_refused)
            is_late = code == pycurl.E_OPERATION_TIMEDOUT and not response.connected
            response.is_unreachable = code in _UNCONNECTED or is_late
            if transfer.is_dropped:
                response.is_dropped, response.message = True, "the server closed the connection"
        elif not transfer.received:
            response.refused = transfer.request.admit(response.head)
        return response

    def _response(self, curl: pycurl.Curl, transfer: Transfer) -> Response:
        head = transfer.parsed()
        response = Response(transfer.request, head, b"".join(transfer.chunks), size=transfer.received)
        response.seconds = curl.getinfo(pycurl.TOTAL_TIME)
        response.connected = curl.getinfo(pycurl.CONNECT_TIME)
        if transfer.file is not None:
            transfer.file.close()
            response.file = Path(transfer.file.name)
        if self.recording:
            response.sent, response.address = b"".join(transfer.sent[-1:]), curl.getinfo(pycurl.PRIMARY_IP)
        if self.options.auth and head.status < 400 and transfer.challenged:
            self._basic.add(parts_of(transfer.request.url).origin)
        return response

    def _is_whole(self, code: int, transfer: Transfer) -> bool:
        """Whether a body counts as whole though it is shorter than announced (``--ignore-length``)."""
        return code == pycurl.E_PARTIAL_FILE and self.options.ignore_length and bool(transfer.received)

    def _created(self) -> pycurl.Curl:
        curl = pycurl.Curl()
        transfer = self._transfers[curl] = Transfer()
        set_up(curl, self.options)
        curl.setopt(pycurl.SHARE, self._share)
        curl.setopt(pycurl.HEADERFUNCTION, transfer.lines.append)
        curl.setopt(pycurl.WRITEFUNCTION, transfer.on_body)
        curl.setopt(pycurl.PREREQFUNCTION, transfer.on_request)
        if self.recording:
            curl.setopt(pycurl.DEBUGFUNCTION, transfer.on_debug)
            curl.setopt(pycurl.VERBOSE, 1)
            curl.setopt(pycurl.HTTP_TRANSFER_DECODING, 0)  # a WARC file holds what came over the wire
        return curl

    def _ask(self, curl: pycurl.Curl, request: Request, transfer: Transfer) -> None:
        curl.setopt(pycurl.URL, request.url.encode())
        if request.url.startswith("https:"):
            set_authorities(curl, self.options)
        has_secret = bool(self._credentials.secret_fields) and self._credentials.may_have_fields(request.url)
        own = self._own if has_secret else self._public
        may_use_netrc = self.options.netrc and self._credentials.may_use_netrc(request.url)
        settings = (request.method, request.headers, has_secret, may_use_netrc)
        if transfer.settings != settings:
            curl.setopt(pycurl.NOBODY if request.method == "HEAD" else pycurl.HTTPGET, 1)
            curl.setopt(pycurl.HTTPHEADER, [*own, *request.headers])
            curl.setopt(pycurl.NETRC, pycurl.NETRC_OPTIONAL if may_use_netrc else pycurl.NETRC_IGNORED)
            transfer.settings = settings
        if self.options.auth:
            self._authenticate(curl, request.url)

    def _authenticate(self, curl: pycurl.Curl, url: str) -> None:
        """Give credentials to the origins they are for, and to no other (a redirect may lead anywhere)."""
        known = self._credentials.of(url)
        if known is None:
            curl.unsetopt(pycurl.USERPWD)
            return
        curl.setopt(pycurl.USERNAME, known[0])
        curl.setopt(pycurl.PASSWORD, known[1])
        unasked = self.options.auth_no_challenge or parts_of(url).origin in self._basic
        curl.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_BASIC if unasked else _SCHEMES)


_SCHEMES = pycurl.HTTPAUTH_BASIC | pycurl.HTTPAUTH_DIGEST


class _Rate:
    """``--limit-rate`` for all transfers together: after data that came too fast, it sleeps before the next poll."""

    def __init__(self, limit: int) -> None:
        self.limit, self.until = limit, 0.0

    def spend(self, received: int) -> None:
        if self.limit:
            self.until = max(self.until, time.monotonic()) + received / self.limit

    def pause(self) -> None:
        ahead = self.until - time.monotonic() if self.limit else 0.0
        if ahead > 0:
            time.sleep(min(ahead, _TICK))


# ---- which requests carry credentials: they belong to where the user gave them for, and never go from https to http
#
# User and password belong to an origin: scheme, host and port (RFC 9110, section 11.5, keeps protection spaces apart by
# origin, too). A ``Cookie`` or ``Authorization`` field of the user's own goes to the hosts of the start URLs. An entry
# of ``~/.netrc`` is for a machine; libcurl would send it without TLS as well.

_SECRET = frozenset({"authorization", "cookie", "proxy-authorization"})


class Credentials:
    """The credentials of a crawl that begins with the URLs ``starts``."""

    def __init__(self, options: NetworkOptions, starts: Iterable[str]) -> None:
        self._auth = options.auth
        self._schemes: dict[str, set[str]] = {}  # of the start URLs, by host
        for parts in map(parts_of, starts):
            self._schemes.setdefault(parts.host, set()).add(parts.scheme)
        self._is_secure = any("https" in schemes for schemes in self._schemes.values())
        names = ((line, line.partition(":")[0].strip().lower()) for line in options.headers)
        self.secret_fields = tuple(line for line, name in names if name in _SECRET)

    def of(self, url: str) -> tuple[str, str] | None:
        """Return user and password for a URL."""
        return self._auth.get(parts_of(url).origin)

    def may_have_fields(self, url: str) -> bool:
        """Whether a request may carry the fields that are secret."""
        parts = parts_of(url)
        return parts.host in self._schemes and self._is_as_safe(parts)

    def may_use_netrc(self, url: str) -> bool:
        """Whether libcurl may look for the host in ``~/.netrc``."""
        return not self._is_secure or self._is_as_safe(parts_of(url))

    def _is_as_safe(self, parts: Parts) -> bool:
        """Whether a URL is no less protected than the start URLs of its host; for another host, than all of them."""
        if parts.scheme == "https":
            return True
        schemes = self._schemes.get(parts.host)
        return "http" in schemes if schemes is not None else not self._is_secure
