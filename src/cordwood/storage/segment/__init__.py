"""One log segment (Kafka: `LogSegment`): its files, indexes, lookups, and the roll decision."""
