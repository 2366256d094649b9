"""Server-side assignors: subscriptions of all members to target partitions (Kafka: `assignor`).

Members are taken in the order of Java's hash map, topics in the order of their topic ids, and
partitions ascending, so that equal groups have equal assignments.
"""
