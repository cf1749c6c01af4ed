"""``[daemons.classify]`` of adaptc.toml."""

from __future__ import annotations

from pathlib import Path

from adaptc.config.schema import InvalidValue, Schema, duration, flag, number, one_or_more, path, subset_of, text, whole
from adaptc.core.values import dataclass
from adaptc.daemons.classify.classifier import Classifier, Limits, Rules
from adaptc.daemons.classify.prefixes import Prefixes, read_routes
from adaptc.daemons.classify.tables import WRITERS


@dataclass(frozen=True, slots=True)
class ClassifySettings(Rules):
    """Logs, tables and rules of the classifier. Times are seconds.

    ``logs`` are followed; ``history`` (gzip or not) is read once, before them, when nothing is remembered.
    ``log_format`` is as for ``adaptc popular``. ``write`` names the forms of the table (``tables.WRITERS``).
    ``routes`` is a routing table, ``pages`` a file with a path a line: the pages that are used. ``unacted`` are the
    levels that leave a page as it is, as ``served=`` of the log names them. ``write_every`` and ``save_every`` are the
    least times between two tables and two states. In ``shadow`` no tables are written. The others are of
    ``classifier.Rules`` and ``classifier.Limits``.
    """

    shadow: bool = False
    logs: tuple[Path, ...] = ()
    history: tuple[Path, ...] = ()
    log_format: str = "auto"
    interval: float = 5.0
    write: tuple[str, ...] = ("dbm", "markers")
    write_every: float = 10.0
    save_every: float = 300.0
    routes: Path | None = None
    pages: Path | None = None
    unacted: tuple[str, ...] = ("-", "full", "lossless")
    normalise: bool = True
    silence: float = 30.0
    expire: float = 86_400.0
    clients: int = 200_000

    def __post_init__(self) -> None:
        for name in ("first", "last", "rtt"):
            rich, poor = getattr(self, f"rich_{name}"), getattr(self, f"poor_{name}")
            if rich >= poor:
                raise InvalidValue(f"rich_{name} ({rich:g}) must be below poor_{name} ({poor:g})")

    def classifier(self) -> Classifier:
        """Return a classifier with these rules. Raises ``UsageError`` for files that are wrong."""
        routes: Prefixes[None] = read_routes(self.routes) if self.routes else Prefixes()
        limits = Limits(self.clients, self.expire, self.silence)
        return Classifier(self, limits, routes, self.normalise, _pages(self.pages))


def _pages(file: Path | None) -> frozenset[str]:
    from adaptc.core.diagnostics import UsageError

    if file is None:
        return frozenset()
    try:
        lines = file.read_text("utf-8", "surrogateescape").splitlines()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from error
    return frozenset(line.strip() for line in lines if line.strip())


_PATHS = one_or_more(path)
_SECONDS = number(0, 3600)

CHECKS: Schema = {
    "shadow": flag,
    "logs": _PATHS,
    "history": _PATHS,
    "log_format": text,
    "interval": duration(0.1, 60),
    "write": subset_of(WRITERS, 1),
    "write_every": duration(0, 3600),
    "save_every": duration(1, 86400),
    "routes": path,
    "pages": path,
    "unacted": one_or_more(text),
    "normalise": flag,
    "alpha": number(0, 0.999),
    "poor_first": _SECONDS,
    "poor_last": _SECONDS,
    "rich_first": _SECONDS,
    "rich_last": _SECONDS,
    "poor_rtt": _SECONDS,
    "rich_rtt": _SECONDS,
    "warm_up": whole(1, 1000),
    "patience": whole(1, 1000),
    "silence": duration(1, 3600),
    "expire": duration(60, 365 * 86400),
    "clients": whole(10, 10_000_000),
}
