"""Small sites, built, served or in memory, for tests to change and look at."""
