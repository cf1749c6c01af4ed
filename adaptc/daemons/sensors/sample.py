"""One reading of all sensors."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Sample:
    """What the sensors said about the time since the sample before. None: this sensor has nothing to say.

    ``at`` is seconds on any clock that only goes forward; ``cpu`` the busy share of what the server may use;
    ``rate`` new connections a second; ``idle`` workers that wait for work; ``pressure`` the share of time in which
    somebody waited for a CPU (PSI, "some").
    """

    at: float
    cpu: float | None = None
    rate: float | None = None
    idle: int | None = None
    pressure: float | None = None

    def record(self) -> dict[str, Any]:
        """Return the sample for JSON, without what is None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


SAMPLE_FIELDS = tuple(field.name for field in fields(Sample))
