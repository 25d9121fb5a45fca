"""The only place that reads and writes SQL."""
