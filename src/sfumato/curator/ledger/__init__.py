"""The ledger: durable, append-only, signed, and charged before any answer exists."""
