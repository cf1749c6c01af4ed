"""The daemons beside the server: pure steps, and the drivers that feed them."""
