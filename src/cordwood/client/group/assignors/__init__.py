"""Assignors of classic groups; the group's leader runs one (Java: `ConsumerPartitionAssignor`)."""
