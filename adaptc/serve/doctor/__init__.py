"""``adaptc doctor``: looks at the machine of a server for what would keep adaptation from working, or make it harm."""
