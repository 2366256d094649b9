"""Coordination: groups, committed offsets and transactions, as state machines without I/O.

    groups, offsets    the state of one partition of `__consumer_offsets` (`group_shard` joins them)
    transactions       the state of one partition of `__transaction_state`
    runtime            loads a shard from its partition, appends its records, keeps its timers

A shard takes a request and the time, and returns an `Outcome`: records to append, answers, timers.
It may import client, storage and everything below; the broker implements its ports.
"""
