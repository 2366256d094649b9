"""A stride over batches of which hardly anything has to be known: what recovery passes fast.

    ordinary   v2, no control batch, part of no transaction; as it was written, by its checksum; its
               offsets above those before it and within reach
    heard      an ordinary batch that has something to say: the first of a leader epoch above those
               before it, and of each run of a producer's batches in one producer epoch the first
               and the last five
    entries    what goes into the indexes of a segment, by the rule of `storage.index_growth`

A stride ends before the first batch that is not ordinary, at the latest where the bytes do. So it
refuses nothing: whoever strides looks at the batch at the end as if there were no strides. That is
also the twin: without a strider every batch is looked at.

What a producer's batches do to its state, once they are in the log, depends on the last five alone,
and whether something is wrong with them on the first. That is not so in a transaction, so nobody
strides while one is open.
"""

from typing import Final, NamedTuple, Protocol

from cordwood.core.binary import Buffer

#: As many of a producer's last batches are heard of: as many as are remembered of a producer.
LAST_HEARD: Final = 5


class Footing(NamedTuple):
    """What the batches before have led to; the last four are those of an index in the making."""

    next_offset: int
    highest_offset: int
    interval_bytes: int
    bytes_since_entry: int
    latest_timestamp: int
    latest_offset: int


class StrideEntry(NamedTuple):
    """An entry of the offset index, and the latest time up to there."""

    last_offset: int
    position: int
    latest_timestamp: int
    latest_offset: int


class Stride(NamedTuple):
    """Where it ended, over how many batches it went, and who is to be heard, by position."""

    end: int
    batches: int
    footing: Footing
    heard: list[int]
    entries: list[StrideEntry]


class Strider(Protocol):
    """Goes over buffers that begin with a batch; not to be shared between threads."""

    def stride(self, data: Buffer, footing: Footing) -> Stride:
        """Go over ordinary batches; not over all of them where there is too much to tell."""


class Striders(Protocol):
    """Gives a strider where one pays."""

    def __call__(self, batches: int, /) -> Strider | None:
        """Return one for about so many batches; None: looking at each takes no longer."""


def no_strider(batches: int) -> None:
    """Let every batch be looked at."""
