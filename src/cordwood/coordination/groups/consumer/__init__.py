"""Groups whose partitions the coordinator assigns: KIP-848 (Kafka: `group.modern.consumer`).

consumer_group_manager    the entry: requests, timers, records, new topics
heartbeats, fencing       what one request or one expired member changes
consumer_group            the state that records rebuild
assignors                 the partitions of every member, from the subscriptions of all
current_assignment        the way of one member from its present to its target partitions
"""
