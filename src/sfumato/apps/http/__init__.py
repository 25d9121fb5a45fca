"""The curator over HTTP: wiring only. What may be said and told is decided in `curator/door`."""
