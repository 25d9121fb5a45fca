"""The routes by what they are about. Each finds the caller, takes a turn in the queue, and lets the desk do it."""
