"""Where the exact answer is computed. An engine knows tables and SQL, and nothing of privacy."""
