"""Importance weighting: weights on a public table such that its weighted averages estimate private ones."""
