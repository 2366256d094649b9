"""The facts of a picture of a log: segments, bounds, checkpoints and open transactions.

Only headers and indexes are read, and a broker may use the log. Offsets are exclusive ends, except
the first offset of a segment and of a transaction.
"""

import json
from contextlib import closing
from dataclasses import asdict, dataclass

from cordwood.core.ports import Files
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import open_reader, partition_of, read_high_watermark
from cordwood.storage.reader.producer_states import load_producer_states
from cordwood.workbench.verify.checkpoint_checks import CheckpointReader


@dataclass(frozen=True, slots=True)
class PictureSegment:
    """A segment; times are in ms since 1970, -1 without one."""

    base_offset: int
    end_offset: int
    size: int
    first_ms: int
    largest_ms: int


@dataclass(frozen=True, slots=True)
class PictureTransaction:
    """An open transaction."""

    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPicture:
    """The facts of one log; a checkpoint without an entry is None."""

    path: str
    log_start: int
    log_end: int
    high_watermark: int | None
    recovery_point: int | None
    cleaned_to: int | None
    segments: tuple[PictureSegment, ...]
    transactions: tuple[PictureTransaction, ...] = ()

    @property
    def first_offset(self) -> int:
        """The first offset of the first segment, which may be below the log start."""
        return min([self.log_start, *(each.base_offset for each in self.segments)])

    @property
    def size(self) -> int:
        """The size of all segments."""
        return sum(each.size for each in self.segments)

    @property
    def marks(self) -> dict[str, int]:
        """The offsets that are marked in a drawing, by name."""
        named = {
            "log start": self.log_start,
            "compacted to": self.cleaned_to,
            "recovery point": self.recovery_point,
            "high watermark": self.high_watermark,
        }
        marks = {name: offset for name, offset in named.items() if offset is not None}
        opened = {
            f"open transaction of producer {each.producer_id}": each.first_offset
            for each in self.transactions
        }
        return {**marks, **opened, "log end": self.log_end}

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps(asdict(self))


def read_picture(files: Files, path: str) -> LogPicture:
    """Return the facts of a partition's log; LogDirectoryError if there is none."""
    checkpointed = read_high_watermark(files, path)
    ends = CheckpointReader(files).read(path, partition_of(path))
    with closing(open_reader(files, path)) as reader:
        return reader.retry_on_change(
            lambda: LogPicture(
                path=path,
                log_start=reader.offsets().log_start,
                log_end=reader.offsets().log_end,
                high_watermark=checkpointed,
                recovery_point=ends.recovery_point or None,
                cleaned_to=reader.checkpoints().cleaned_to or None,
                segments=tuple(_segments(reader)),
                transactions=_open_transactions(reader, checkpointed),
            )
        )


def _segments(reader: PartitionReader) -> list[PictureSegment]:
    opened, log_end = reader.open_segments(), reader.offsets().log_end
    ends = [*(each.base_offset for each in opened[1:]), log_end]
    found = []
    for segment, end in zip(opened, ends, strict=True):
        first = segment.view.first_batch()
        found.append(
            PictureSegment(
                segment.base_offset,
                end,
                segment.view.size,
                -1 if first is None else first.max_timestamp,
                -1 if first is None else segment.largest_timestamp(),
            )
        )
    return found


def _open_transactions(
    reader: PartitionReader, high_watermark: int | None
) -> tuple[PictureTransaction, ...]:
    log_end = reader.offsets().log_end
    mark = log_end if high_watermark is None else min(high_watermark, log_end)
    states = load_producer_states(reader, high_watermark=mark, log_end=log_end)
    found = (
        PictureTransaction(each.producer_id, each.transaction_first_offset)
        for each in states.producers.values()
        if each.has_transaction
    )
    return tuple(sorted(found, key=lambda each: each.first_offset))
