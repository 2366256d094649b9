"""State of a consumer group that its records rebuild, and what is read from it alone."""
