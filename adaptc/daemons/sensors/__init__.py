"""How busy the server is: CPU, connections, idle workers, pressure. Parsing is apart from reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adaptc.daemons.sensors.waiting import LISTEN_QUEUE, PRESSURE, LimitSensor

# The sensors with a limit of their own, in the order of the documentation. CPU, connections and idle workers are the
# inputs of the switching rules and belong to the panel.
LIMIT_SENSORS: tuple[LimitSensor, ...] = (PRESSURE, LISTEN_QUEUE)


def limits_of(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the limit of each of these sensors, by name: that in ``values``, else one that no value exceeds."""
    return {sensor.name: values.get(sensor.name, sensor.off) for sensor in LIMIT_SENSORS}
