"""Topics of consumer groups: matched by regular expressions, changed, hashed."""
