"""Replicas of this broker: elected at the start, created, and changed by each cluster image.

Kafka: `BrokerMetadataPublisher`, `LocalReplicaChanges`, `AssignmentsManager`.
"""
