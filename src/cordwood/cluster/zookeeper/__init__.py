"""Cluster metadata in Apache ZooKeeper, with Kafka 3.9's nodes (Kafka: `kafka.zk`).

    client     connection and session: a port, its version over kazoo, errors, retries
    znodes     paths and contents of Kafka's nodes, as values
    store      operations and events of the cluster for brokers and the controller

No other package knows a path, a node or a watch. It may import core.
"""
