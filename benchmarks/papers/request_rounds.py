"""The CPU time of a request under settings of ``adaptc emit``, measured in rounds."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.papers.experiment import Parameters, Row
from benchmarks.papers.limited_apache import require_programs


def request_rounds(parameters: Parameters) -> Iterator[Row]:
    """Yield the microseconds of CPU that a request takes Apache in each round, with a column for each setting."""
    from benchmarks.serving import SETTINGS, rounds

    require_programs("apache2", "ab")
    chosen = tuple(one for one in SETTINGS if one.name in parameters["settings"])
    for number, times in enumerate(rounds("apache", chosen, parameters["rounds"], parameters["requests"])):
        yield {"round": number, **{name: times[name] for name in parameters["settings"]}}
