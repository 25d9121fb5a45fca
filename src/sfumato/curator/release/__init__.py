"""Publishing once: a batch of products on one budget, its files, and what the ledger keeps of it."""
