"""Replication from the leaders of other brokers (Kafka: `ReplicaFetcherManager` and its threads).

    replica_fetcher_manager   which fetcher copies which partition
    replica_fetcher_task      the requests to one leader, one after the other, and their actions
    remote_leader             requests and responses of one leader
    local_replicas            the port to the local logs

`cluster.partition` decides; time comes from the ports, so that a simulation can run all of it.
"""
