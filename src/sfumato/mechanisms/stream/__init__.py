"""Answers to numbers that come one after the other, for one price."""
