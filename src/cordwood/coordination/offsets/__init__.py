"""Committed offsets of groups (Kafka: `OffsetMetadataManager`).

offset_store      the state: committed offsets, and those of open transactions
offset_commit, offset_fetch, offset_delete    one API each, transactional commits with the first
offset_expiration, topic_deletion             offsets that end without a request

A group decides who may commit; this package may import groups and what they may import.
"""
