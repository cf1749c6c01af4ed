"""How the crawl speaks to servers: what the user asked for, by wget's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adaptc.core.version import VERSION

USER_AGENT = f"adaptc/{VERSION}"
# wget 1.21's: a connection may take as long as the system lets it, a silent server 15 minutes
READ_TIMEOUT = 900.0
RETRIED = frozenset({429, 503})  # what asks for patience in so many words; the user may add others


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """Options of connections and requests. Times are seconds, ``limit_rate`` bytes a second; 0 means none.

    ``auth`` gives (user, password) by host: the hosts of the start URLs. ``headers`` replace ours of the same name.
    """

    user_agent: str = USER_AGENT
    headers: tuple[str, ...] = ()
    referer: str | None = None
    connections: int = 8
    all_connections: int = 32
    tries: int = 3
    retry_wait: float = 10.0
    retry_on: frozenset[int] = RETRIED
    retry_refused: bool = False
    connect_timeout: float = 60.0
    read_timeout: float = READ_TIMEOUT
    wait: float = 0.0
    random_wait: bool = False
    limit_rate: int = 0
    max_redirect: int = 20
    auth: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    auth_no_challenge: bool = False
    netrc: bool = True
    cookies: bool = True
    load_cookies: Path | None = None
    save_cookies: Path | None = None
    keep_session_cookies: bool = False
    proxy: str | None = None
    no_proxy: str | None = None
    use_proxy: bool = True
    proxy_user: str | None = None
    proxy_password: str | None = None
    check_certificate: bool = True
    ca_certificate: Path | None = None
    ca_directory: Path | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    family: int = 0  # 4, 6, or 0 for both
    bind_address: str | None = None
    compression: bool = True
    keep_alive: bool = True
    ignore_length: bool = False
