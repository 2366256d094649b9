"""Decisions about one replicated partition, without I/O (Kafka: `Partition`, the fetcher threads).

    leader                      the leader's view: which records count, and who is in sync
    alter_partition_manager     changes of the in-sync replicas, on their way to the controller
    truncation, epoch_lookup    the offset where a follower's log diverges: both sides
    replica_fetcher             a follower's requests to one leader, and the actions that follow

Time, the local log and the set of eligible brokers are arguments; requests and actions are values.
It may import storage's leader epoch cache, the messages and everything below.
"""
