"""Decisions of the controller of a cluster with ZooKeeper, as Kafka 3.9 makes them, without I/O.

A flow (`effects`) takes the state of the cluster (`context`) and an event, and yields effects:

    this broker was elected        failover.fail_over
    brokers, log directories       broker_changes
    topics, partitions, deletions  topic_changes, topic_deletions
    responses of brokers           broker_changes.leader_and_isr_answered,
                                   topic_deletions.stop_replica_answered
    requests                       requests.in_sync_updates, controlled_shutdown, elections,
                                   reassignment_requests, producer_id_blocks
    requests in the store          requests.elections.elect_requested_leaders,
                                   requests.reassignment_requests.start_requested_reassignments
    timer of the rebalance         requests.elections.rebalance_leaders

A driver runs one flow after the other. It may import core and protocol.
"""
