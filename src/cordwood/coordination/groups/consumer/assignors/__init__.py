"""Server-side assignors: subscriptions of all members to target partitions (Kafka: `assignor`).

Members and topics are taken in the order of Java's hash tables, partitions ascending, so that equal
groups have the assignments that Kafka gives them.
"""
