"""nginx's log formats (ngx_http_log_module, log_format) as pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from adaptc.formats.accesslog.pieces import Field, Meaning, Piece

_MEANINGS = {
    "remote_addr": Meaning.CLIENT,
    "realip_remote_addr": Meaning.CLIENT,
    "http_x_forwarded_for": Meaning.FORWARDED,
    "proxy_add_x_forwarded_for": Meaning.FORWARDED,
    "remote_user": Meaning.USER,
    "request": Meaning.REQUEST,
    "request_method": Meaning.METHOD,
    "request_uri": Meaning.TARGET,
    "uri": Meaning.PATH,
    "document_uri": Meaning.PATH,
    "is_args": Meaning.QUERY,
    "args": Meaning.QUERY,
    "query_string": Meaning.QUERY,
    "status": Meaning.STATUS,
    "body_bytes_sent": Meaning.SIZE,
    "bytes_sent": Meaning.SIZE,
    "http_referer": Meaning.REFERRER,
    "http_user_agent": Meaning.USER_AGENT,
}
_CLOCKS = {"time_local": "common", "time_iso8601": "iso", "msec": "sec"}

VARIABLE = re.compile(r"\$(?:\{([a-z0-9_]+)\}|([a-z0-9_]+))")


def nginx_pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces of a log_format string; of several strings in a row, written as one."""
    at = 0
    for found in VARIABLE.finditer(text):
        yield text[at : found.start()]
        yield _variable(found[0], found[1] or found[2])
        at = found.end()
    yield text[at:]


def _variable(written: str, name: str) -> Field:
    if name in _CLOCKS:
        return Field(written, Meaning.TIME, _CLOCKS[name])
    return Field(written, _MEANINGS.get(name, Meaning.OTHER))
