"""Keeps the trees fresh while files change (``adaptc watch``)."""
