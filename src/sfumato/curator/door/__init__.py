"""The curator behind a door: who may ask, how questions and answers travel, what a stranger must not learn on the way."""
