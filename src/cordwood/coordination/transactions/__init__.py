"""Transactions: the state of one partition of `__transaction_state`.

Kafka: `TransactionCoordinator`, `TransactionStateManager`, `AddPartitionsToTxnManager`.

    transaction_shard       the APIs, replay and timers of one partition
    transaction_metadata    the state of one transactional id and its legal transitions
    init_producer_id, add_partitions, end_transaction
                            the rules of one request each, in the order of Kafka's checks
    verification_answers    the side of a partition's leader, which adds or verifies partitions

Every module here takes values and the time; it imports no clock, file or thread.
"""
