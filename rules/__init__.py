"""The levels that ship with adaptc, one TOML file each (installed as the package ``adaptc.rules``)."""
