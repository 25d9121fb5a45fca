"""Quantiles on a public lattice, and what is found by the same means: the mean, the largest, counts."""
