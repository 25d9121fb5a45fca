"""Histograms: linear strategies on cells, noise on their rows, least squares back to the cells."""
