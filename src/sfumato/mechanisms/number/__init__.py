"""Noise added to a number or to a vector of numbers."""
