"""Levels composed for a goal: what candidates cost and what a reader loses, and the search among them."""
