"""``adaptc preview``: the levels of an output on loopback, for people to look at side by side."""
