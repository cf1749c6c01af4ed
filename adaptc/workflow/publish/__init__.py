"""``adaptc publish``: the whole site at one level in an object store or another folder by URL."""
