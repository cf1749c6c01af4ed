"""Pure formulas: what a server can carry, and what cheaper representations will buy. No I/O, no state."""
