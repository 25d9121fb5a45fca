"""What it costs: losses, their composition, the filters that admit them, and noise found from a promise."""
