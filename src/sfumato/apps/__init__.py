"""Wiring: the command line, and later the doors. Nothing here computes."""
