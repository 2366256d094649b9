"""One partition's log (Kafka: `UnifiedLog`): append, read, roll, truncate, recover, retain."""
