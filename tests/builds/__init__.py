"""Whole builds: what becomes of a site, whatever happens to it and to the program."""
