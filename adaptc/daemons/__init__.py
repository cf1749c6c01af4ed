"""The daemons that run next to the server: pure steps, and the drivers that feed them."""
