"""Coordinators of this broker: the ports of `coordination` over partitions and cluster images.

Kafka: `GroupCoordinatorAdapter`, `TransactionCoordinator`, `AddPartitionsToTxnManager`.
"""
