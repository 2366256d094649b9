"""Classic groups, whose leader assigns the partitions (Kafka: `ClassicGroup`)."""
