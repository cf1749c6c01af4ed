"""How busy the server is: CPU, connections, idle workers, pressure. Parsing is apart from reading."""

from __future__ import annotations

from adaptc.daemons.sensors.pressure import PRESSURE
from adaptc.daemons.sensors.sensor import LimitSensor

# The sensors with a limit of their own, in the order of the documentation. CPU, connections and idle workers are the
# inputs of the switching rules and belong to the panel.
LIMIT_SENSORS: tuple[LimitSensor, ...] = (PRESSURE,)
