"""Decisions about one replicated partition, without I/O (Kafka: `Partition`, the fetcher threads).

    leader                      the leader's view: which records count, and who is in sync
    alter_partition_manager     changes of the in-sync replicas, on their way to the controller

Time, the local log and the set of eligible brokers are arguments; requests and effects are values.
It may import storage's leader epoch cache, the messages and everything below.
"""
