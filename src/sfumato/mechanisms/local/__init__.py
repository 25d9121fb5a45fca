"""Noise that each person adds before answering; the server never sees the truth."""
