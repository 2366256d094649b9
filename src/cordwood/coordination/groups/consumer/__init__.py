"""Groups whose partitions the coordinator assigns: KIP-848 (Kafka: `group.modern.consumer`).

consumer_group_manager    the entry: requests, timers, records, new topics
heartbeats, classic_...   one request of a member; `member_update` has their common steps
member_fencing            the end of members
conversion                from the classic protocol, and back
topics                    regular expressions, changes of topics
group                     the state that records rebuild
current_assignment        the way of one member to its target
target_assignment         the targets of all members, by one of the assignors
"""
