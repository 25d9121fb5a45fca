"""Pufferfish: two secrets must look alike under every belief of a public family, correlations included."""
