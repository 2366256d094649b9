"""Conversion of groups between the classic and the consumer protocol, with running members."""
