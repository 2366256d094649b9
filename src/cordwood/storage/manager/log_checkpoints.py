"""Offset checkpoints of all logs (Kafka: `LogManager.checkpointRecoveryOffsetsInDir` and the like).

    recovery-point-offset-checkpoint     the recovery point of each log
    log-start-offset-checkpoint          the log start offset, where no segment begins there
    replication-offset-checkpoint        the high watermark
    cleaner-offset-checkpoint            the cleaned-to offset, where the cleaner has set one

One file a log directory and kind. There are two ways to collect the values of a file:

    collect_and_write    a few logs per loop turn, since thousands of logs would block the loop
    the other methods    all logs at once, for rare events: truncation, cleaning, close

With `collect_and_write` each value is true of the moment at which it was read. The values of
different logs are independent, so the file is as good as one that was collected in one moment.
There are two exceptions, for which the caller must notify this class. After a truncation the value
must be read again (`reread`). A new partition must not inherit the value of a deleted one with the
same name (`forget`).

An unexpected error of one log is reported; the log keeps its value in the file.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from typing import Final, TypeAlias
from weakref import WeakSet

from cordwood.core.ports import Pending
from cordwood.core.types import Offset, TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.log.log import Log
from cordwood.storage.manager.checkpoint_writer import CheckpointWriter
from cordwood.storage.manager.log_directory import CHECKPOINTS, LogDirectory, Offsets
from cordwood.storage.manager.partition_logs import PartitionLogs

#: More logs than these are not handled in one turn of the loop.
LOGS_PER_TURN: Final = 20

OnFailure: TypeAlias = Callable[[TopicPartition, Exception], object]


def _recovery_point(log: Log) -> Offset:
    return log.bounds.recovery_point


def _explicit_log_start(log: Log) -> Offset | None:
    """Return the log start offset unless the name of the first segment states it."""
    log_start = log.bounds.log_start
    return log_start if log_start > log.base_offsets[0] else None


def _high_watermark(log: Log) -> Offset:
    return log.bounds.high_watermark


def _cleaned_to(log: Log) -> Offset | None:
    return log.bounds.cleaned_to


_OFFSET_OF: Final[Mapping[str, Callable[[Log], Offset | None]]] = {
    RECOVERY_POINTS: _recovery_point,
    LOG_START_OFFSETS: _explicit_log_start,
    HIGH_WATERMARKS: _high_watermark,
    CLEANER_OFFSETS: _cleaned_to,
}


class CheckpointValues:
    """The values for the checkpoint files of one name, by log directory and partition."""

    __slots__ = ("__weakref__", "_offset_of", "_offsets")

    def __init__(self, name: str, initial: Mapping[str, Offsets]) -> None:
        """Begin with `initial` values by directory; logs of other directories are passed over."""
        self._offset_of = _OFFSET_OF[name]
        self._offsets = {path: dict(offsets) for path, offsets in initial.items()}

    def read(self, log: Log) -> None:
        """Store the present value of a log, or remove the stored one if it has none."""
        offsets, offset = self._offsets.get(directory_of(log.directory), {}), self._offset_of(log)
        if offset is None:
            offsets.pop(log.partition, None)
        else:
            offsets[log.partition] = offset

    def keep(self, partition: TopicPartition, path: str, *, written: Offsets) -> None:
        """Replace the value of a partition by the written one, if there is one."""
        self.forget(partition, path)
        if partition in written:
            self._offsets[path][partition] = written[partition]

    def forget(self, partition: TopicPartition, path: str) -> None:
        """Remove the value of a partition from the file of a directory."""
        self._offsets.get(path, {}).pop(partition, None)

    def of(self, path: str) -> Offsets:
        """Return the values for the file of a directory."""
        return self._offsets[path]


class LogCheckpoints:
    """Collects the values of current and future logs, and gives them to the writer."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        logs: Sequence[PartitionLogs],
        writer: CheckpointWriter,
        *,
        on_failure: OnFailure,
    ) -> None:
        self._directories = directories
        self._logs = logs
        self._writer = writer
        self._on_failure = on_failure
        self._being_collected = WeakSet[CheckpointValues]()

    def collect_and_write(self, name: str) -> Iterator[object]:
        """Write the files of one name; each step reads the values of `LOGS_PER_TURN` logs.

        A directory that is not loaded keeps its file: its logs would be missing in a new one.
        """
        loaded = self._loaded()
        values = yield from self._collect(loaded, name)
        for directory in loaded:
            if directory.is_online:
                self._writer.write(directory, name, offsets=values.of(directory.path))

    def write_all(self, name: str) -> list[Pending[None]]:
        """Write the files of one name with the present values; the worker writes them soon."""
        return [self.write(each, name) for each in self._loaded()]

    def write(self, directory: LogDirectory, name: str) -> Pending[None]:
        """Write one file with the present values of all logs; the worker writes it soon."""
        return self._writer.write(directory, name, offsets=self.values(directory, name))

    def write_now(self, directory: LogDirectory, name: str) -> None:
        """Write one file with the present values of all logs before returning."""
        self._writer.write_now(directory, name, offsets=self.values(directory, name))

    def write_all_now(self, directory: LogDirectory) -> None:
        """Write every checkpoint file of a directory before returning."""
        if directory.is_loaded:
            for name in CHECKPOINTS:
                self.write_now(directory, name)

    def values(self, directory: LogDirectory, name: str) -> Offsets:
        """Return the present values for one checkpoint file.

        A directory holds either the current or the future log of a partition, never both.
        """
        values = CheckpointValues(name, {directory.path: self._offline(directory, name)})
        for part in self._logs:
            for log in part.in_directory(directory).values():
                values.read(log)
        return values.of(directory.path)

    def reread(self, log: Log) -> None:
        """Replace the value of a truncated log in every file that is being collected."""
        for values in self._being_collected:
            values.read(log)

    def forget(self, partition: TopicPartition, directory: LogDirectory) -> None:
        """Remove values of an earlier partition of this name, so that a crash cannot restore them.

        Blocks while it rewrites the files that contain the partition.
        """
        for values in self._being_collected:
            values.forget(partition, directory.path)
        for name in _OFFSET_OF:
            if self._writer.may_contain(directory, name, partition=partition):
                self.write_now(directory, name)

    def begin_forget(
        self, partitions: Mapping[TopicPartition, LogDirectory]
    ) -> Iterator[Sequence[Pending[None]]]:
        """Remove values as `forget` does, without blocking.

        Each step is short. The last one yields the writes to wait for; `has_forgotten` is true for
        a partition once they have succeeded.
        """
        stale: dict[tuple[str, str], LogDirectory] = {}
        for count, (partition, directory) in enumerate(partitions.items(), start=1):
            for values in self._being_collected:
                values.forget(partition, directory.path)
            for name in self._names_with(partition, directory):
                stale[directory.path, name] = directory
            if count % LOGS_PER_TURN == 0:
                yield ()
        writes = []
        for (path, name), directory in stale.items():
            values = yield from self._collect([directory], name)
            writes.append(self._writer.write(directory, name, offsets=values.of(path)))
        yield writes

    def has_forgotten(self, partition: TopicPartition, directory: LogDirectory) -> bool:
        """Return whether no checkpoint file of a directory contains a partition."""
        return not self._names_with(partition, directory)

    def _names_with(self, partition: TopicPartition, directory: LogDirectory) -> list[str]:
        """Return the names of the files of a directory that contain a partition."""
        may_contain = self._writer.may_contain
        return [each for each in _OFFSET_OF if may_contain(directory, each, partition=partition)]

    def _collect(
        self, directories: Collection[LogDirectory], name: str
    ) -> Generator[tuple[()], None, CheckpointValues]:
        """Return the values for the files of one name; each step reads `LOGS_PER_TURN` of them."""
        values = CheckpointValues(
            name, {each.path: self._offline(each, name) for each in directories}
        )
        self._being_collected.add(values)
        every_log = [
            log
            for part in self._logs
            for directory in directories
            for log in part.in_directory(directory).values()
        ]
        for count, log in enumerate(every_log, start=1):
            # The log may have been deleted in a turn between two steps.
            if any(log in part for part in self._logs):
                self._read(values, log, name)
            if count % LOGS_PER_TURN == 0:
                yield ()
        return values

    def _read(self, values: CheckpointValues, log: Log, name: str) -> None:
        try:
            values.read(log)
        except Exception as error:  # noqa: BLE001 - the files have the values of the other logs
            path = directory_of(log.directory)
            (directory,) = (each for each in self._directories if each.path == path)
            values.keep(log.partition, path, written=self._writer.written(directory, name))
            self._on_failure(log.partition, error)

    def _loaded(self) -> list[LogDirectory]:
        return [each for each in self._directories if each.is_online and each.is_loaded]

    def _offline(self, directory: LogDirectory, name: str) -> Offsets:
        """Return the values found at startup of the logs that could not be loaded: they stay."""
        found = directory.checkpoints.get(name, {})
        offline = (each for part in self._logs for each in part.offline_in(directory))
        return {each: found[each] for each in offline if each in found}
