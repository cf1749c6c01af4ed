"""``adaptc export``: the whole site at one level as a directory, for hosts that only send files."""
