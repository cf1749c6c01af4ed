"""``adaptc doctor``: finds what on the machine of a server prevents adaptation or makes it do harm."""
