"""Kafka 3.9's nodes in ZooKeeper: their paths, and their contents as values (Kafka: `ZkData`)."""
