"""Sequence numbers of a producer: 31 bits, and 2147483647 is followed by 0."""

from cordwood.core.binary import INT32_MAX


def increment_sequence(sequence: int, by: int) -> int:
    """Return the number `by` steps after `sequence`."""
    return (sequence + by) & INT32_MAX


def decrement_sequence(sequence: int, by: int) -> int:
    """Return the number `by` steps before `sequence`."""
    return (sequence - by) & INT32_MAX
