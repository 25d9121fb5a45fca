"""Choosing one of several public candidates."""
