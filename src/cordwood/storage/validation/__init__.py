"""Checks and rewrites of a record set before an append (Kafka: `LogValidator`); pure."""
