"""Pure formulas: the load that a server can carry, and what smaller representations gain. No I/O, no state."""
