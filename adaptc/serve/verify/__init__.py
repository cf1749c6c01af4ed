"""``adaptc verify-server``: asks a real server for everything, in every mode, and compares the answers."""
