"""``adaptc prove``: loads pages at every level in a browser, and says what a level does not keep."""
