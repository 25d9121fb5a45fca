"""Which groups of a private column may be told."""
