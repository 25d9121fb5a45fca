"""What a release says of itself, signed: its guarantee, its noise, its place in the ledger, its files, its limits."""
