"""Partitions hosted by this broker, and fetches over them (Kafka: `ReplicaManager`)."""
