"""``adaptc verify-server``: verifies on a real server that every URL gets the representation of the policy."""
