"""What a checkpoint file is to say, taken from logs a few at a time: thousands would take too long.

Each value is of the moment at which it was taken. What a file says of one log depends on no other,
so the file is as true as if it had been written at any moment in between, but for two things that
whoever does them tells the takings under way: a log that is cut is taken again, for what it had on
disk is there no more, and of a partition that begins anew nothing is said that was before.
"""

from collections.abc import Callable, Mapping
from typing import Final

from cordwood.core.types import Offset, TopicPartition
from cordwood.storage.atomic import directory_of
from cordwood.storage.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.log import Log
from cordwood.storage.log_directory import Offsets


class Taking:
    """The values for one checkpoint, by the directory in whose file they go."""

    __slots__ = ("__weakref__", "_offset_of", "_offsets", "name")

    def __init__(self, name: str, known: Mapping[str, Offsets]) -> None:
        """`known` is what stays said of logs that cannot be asked, by the directory."""
        self.name = name
        self._offset_of = CHECKPOINTED[name]
        self._offsets = {path: dict(offsets) for path, offsets in known.items()}

    def take(self, log: Log) -> None:
        """Let the file say what is true of a log now."""
        offsets, offset = self._offsets.get(directory_of(log.directory), {}), self._offset_of(log)
        if offset is None:
            offsets.pop(log.partition, None)
        else:
            offsets[log.partition] = offset

    def forget(self, partition: TopicPartition, path: str) -> None:
        """Let a directory's file say nothing of a partition."""
        self._offsets.get(path, {}).pop(partition, None)

    def of(self, path: str) -> Offsets | None:
        """Return what was taken for a directory's file; None of one that was not meant."""
        return self._offsets.get(path)


def _recovery_point(log: Log) -> Offset:
    return log.bounds.recovery_point


def _start_to_remember(log: Log) -> Offset | None:
    """Return where a log starts, unless its first segment says so."""
    log_start = log.bounds.log_start
    return log_start if log_start > log.base_offsets[0] else None


def _high_watermark(log: Log) -> Offset:
    return log.bounds.high_watermark


def _cleaned_to(log: Log) -> Offset | None:
    return log.bounds.cleaned_to


CHECKPOINTED: Final[Mapping[str, Callable[[Log], Offset | None]]] = {
    RECOVERY_POINTS: _recovery_point,
    LOG_START_OFFSETS: _start_to_remember,
    HIGH_WATERMARKS: _high_watermark,
    CLEANER_OFFSETS: _cleaned_to,
}
