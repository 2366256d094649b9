"""Topics, configurations and producer ids of a cluster (Kafka: `ZkAdminManager`).

The twins of `topic_manager`, `config_changes` and `block_allocator`, which serve an embedded
broker. They store in ZooKeeper, or send to the controller, and read the image of the cluster.
"""
