"""The curator: the one party that sees questions, rows and noise together, and keeps the books."""
