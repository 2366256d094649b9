"""Pieces of a request with many partitions: a coordinator handles each of them in one callback.

Kafka handles a request in a thread, as one piece. A commit of more than `MOST_PARTITIONS` offsets
is several batches here; each has its own results.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Final, TypeVar

from cordwood.protocol.schema import Struct

T = TypeVar("T", bound=Struct)

_PARTITIONS: Final = "partitions"
#: The partitions of one piece: about 2 ms for a commit, with its records.
MOST_PARTITIONS: Final = 200


def are_few(topics: Sequence[Struct], field: str) -> bool:
    """Return whether the topics are one piece."""
    return sum([len(getattr(each, field)) or 1 for each in topics]) <= MOST_PARTITIONS


def pieces(topics: Sequence[T], field: str, *, most: int = MOST_PARTITIONS) -> Iterator[list[T]]:
    """Yield the topics in lists of at most `most` partitions together, which `field` has.

    There is at least one list. A topic that does not fit is divided; one without partitions counts
    as one.
    """
    if sum(len(getattr(each, field)) or 1 for each in topics) <= most:
        yield [*topics]
        return
    piece, room = list[T](), most
    for topic in topics:
        partitions = getattr(topic, field)
        for start, end in _ranges(len(partitions), room, most=most):
            part = copy(topic)
            setattr(part, field, partitions[start:end])
            piece.append(part)
            room -= (end - start) or 1
            if room == 0:
                yield piece
                piece, room = [], most
    if piece:
        yield piece


def _ranges(count: int, first: int, *, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges up to `count`: the first one of at most `first`, later ones of `most`."""
    start, end = 0, min(count, first)
    if count == 0:
        yield start, end
    while start < count:
        yield start, end
        start, end = end, min(count, end + most)


def join(topics: list[T], more: Sequence[T], *names: str) -> None:
    """Append the results of the next piece; a topic that was divided is one topic again.

    Topics are the same if their fields `names` are.
    """
    for topic in more:
        last = topics[-1] if topics else None
        if last is not None and all(getattr(last, each) == getattr(topic, each) for each in names):
            getattr(last, _PARTITIONS).extend(getattr(topic, _PARTITIONS))
        else:
            topics.append(topic)
