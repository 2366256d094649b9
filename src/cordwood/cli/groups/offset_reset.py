"""The decision of a reset: the new offset of a partition (Kafka: `GroupOffsetsResetter`).

to earliest    the log start offset
to latest      the log end offset
to current     the committed offset, or the log end offset if there is none
to offset      the given offset, limited to the log
shift          the committed offset plus a number, limited to the log
to time        the first record at or after the time, or the log end offset if there is none
from a file    the offset of the file, limited to the log
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from cordwood.core.errors import InvalidRequestError
from cordwood.core.types import TopicPartition


class ResetKind(Enum):
    """Where offsets are reset to."""

    EARLIEST = "to-earliest"
    LATEST = "to-latest"
    CURRENT = "to-current"
    OFFSET = "to-offset"
    SHIFT = "shift-by"
    TIME = "to-datetime"
    FILE = "from-file"


#: Kinds that need the committed offsets.
OF_COMMITTED: Final = (ResetKind.CURRENT, ResetKind.SHIFT)


class ResetTarget(NamedTuple):
    """A kind with its value: the offset, the shift, or the time in milliseconds."""

    kind: ResetKind
    value: int = 0


class OffsetChoices(NamedTuple):
    """The offsets of a partition that a reset chooses from; None for one that does not exist.

    `requested` is the offset of the file; `at_time` that of the first record at or after the time.
    """

    log_start: int
    log_end: int
    committed: int | None = None
    requested: int | None = None
    at_time: int | None = None


def new_offsets(
    target: ResetTarget, partitions: Mapping[TopicPartition, OffsetChoices]
) -> dict[TopicPartition, int]:
    """Return the new offset of each partition."""
    return {
        each: new_offset(target, offsets, partition=each) for each, offsets in partitions.items()
    }


def new_offset(target: ResetTarget, offsets: OffsetChoices, *, partition: TopicPartition) -> int:
    """Return the new offset; InvalidRequestError to shift where no offset is committed."""
    wanted = wanted_offset(target, offsets, partition=partition)
    if wanted is not None:
        return max(offsets.log_start, min(wanted, offsets.log_end))
    found: int | None = None
    match target.kind:
        case ResetKind.EARLIEST:
            found = offsets.log_start
        case ResetKind.CURRENT:
            found = offsets.committed
        case ResetKind.TIME:
            found = offsets.at_time
        case _:
            pass
    return offsets.log_end if found is None else found


def wanted_offset(
    target: ResetTarget, offsets: OffsetChoices, *, partition: TopicPartition
) -> int | None:
    """Return the offset that the user gave, which may be outside the log; None for other kinds."""
    match target.kind:
        case ResetKind.OFFSET:
            return target.value
        case ResetKind.FILE:
            return offsets.requested
        case ResetKind.SHIFT:
            if offsets.committed is None:
                raise InvalidRequestError(
                    f"{partition}: has no committed offset to shift; use --to-offset instead"
                )
            return offsets.committed + target.value
        case _:
            return None
