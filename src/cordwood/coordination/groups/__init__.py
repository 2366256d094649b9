"""Groups of one partition of `__consumer_offsets` (Kafka: `GroupMetadataManager`).

group, group_registry, group_settings    shared by both kinds of groups
classic      groups whose leader, a client, assigns the partitions
consumer     groups whose partitions the coordinator assigns (KIP-848)
"""
