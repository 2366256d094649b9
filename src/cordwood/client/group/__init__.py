"""Membership of a consumer in a group, and the group's offsets (Java: `ConsumerCoordinator`).

The memberships decide in values; `group_member` and `group_coordinator` perform their effects.
"""
