"""The documentation, the examples and the repeated papers: they say what the program does."""
