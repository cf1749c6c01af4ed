"""Templates of the files that adaptc writes (installed as the package ``adaptc.templates``)."""
