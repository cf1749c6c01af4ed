"""Utilization control (Abdelzaher, Shin and Bhatti): as much content as the server can carry, and no more."""
