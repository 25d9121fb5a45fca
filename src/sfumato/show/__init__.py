"""How results look: text, HTML, charts. What draws is imported inside functions."""
