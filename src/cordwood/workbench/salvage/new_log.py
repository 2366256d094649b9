"""New log of a salvage: written as a replica writes it, with its checkpoints.

The log creates segments, indexes, epochs, aborted transactions and snapshots. Rebuilt markers are
written at their lost offsets, between the batches. A doubtful batch whose transaction would stay
open for ever is written without transaction and producer: it must not hold up other records.

A replica rejects a batch outside of its producer's open transaction. A damaged attribute or a lost
marker leads to such a batch. It is written without producer; a note names it if it is not doubtful.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import BytesError, DamagedFileError
from cordwood.core.ports import Files, Ports
from cordwood.core.types import NO_LEADER_EPOCH, Offset, TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.checkpoints.partition_metadata_file import (
    read_partition_metadata,
    write_partition_metadata,
)
from cordwood.storage.files.atomic_write import directory_of, exists
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.workbench.salvage.batch_run import SalvagedRun, SourceWindows, batches_of
from cordwood.workbench.salvage.salvaged_batch import SalvagedBatch, without_transaction
from cordwood.workbench.salvage.transaction_ends import RebuiltMarker

#: The size of one append to the new log.
SET_BYTES: Final = 1 << 20

_FILES_OPEN: Final = 8
_NO_BROKER_EPOCH: Final = -1


class NewContents(NamedTuple):
    """The contents of a new log: the runs and rebuilt markers, both in order, and its log start.

    `is_unended` returns whether the transaction of a producer at an offset has no marker.
    """

    runs: Sequence[SalvagedRun]
    markers: Sequence[RebuiltMarker]
    log_start: int
    is_unended: Callable[[int, int], bool]


class WrittenLog(NamedTuple):
    """The start and the end of a new log, and notes about its batches."""

    start: int
    end: int
    notes: list[str]


class WrittenBatch(NamedTuple):
    """A batch of a new log: its offsets and bytes, whether it is a marker, and a note about it."""

    offset: int
    last_offset: int
    data: bytearray
    is_marker: bool
    note: str = ""


class RecordSet(NamedTuple):
    """The bytes of adjacent batches, and the notes about them."""

    data: bytearray
    notes: list[str]


class _OpenTransactions:
    """The producers with an open transaction in the new log."""

    def __init__(self, is_unended: Callable[[int, int], bool]) -> None:
        self._is_unended = is_unended
        self._producers: set[int] = set()

    def end(self, producer_id: int) -> None:
        """End the transaction of a producer, if it has one."""
        self._producers.discard(producer_id)

    def takes_producer(self, batch: SalvagedBatch) -> bool:
        """Return whether a batch keeps its producer, and begin or end its transaction."""
        header = batch.header
        producer_id = header.producer_id
        if header.is_control:
            if batch.marker is not None:
                self.end(producer_id)
        elif header.is_transactional:
            if batch.is_doubtful and self._is_unended(producer_id, batch.offset):
                return False
            self._producers.add(producer_id)
        elif header.has_producer_id and producer_id in self._producers:
            return False
        return True


class _NoDeletions:
    """Deletions of a log that only grows: there are none."""

    def remove_later(self, paths: object, *, delay_ms: int) -> None:
        """Do nothing; never called."""


def create_log(
    ports: Ports, source: str, *, place: LogPlace, contents: NewContents, windows: SourceWindows
) -> WrittenLog:
    """Write the log with the topic id of its source, or leave nothing."""
    with _removed_on_error(ports.files, place.directory):
        written = _write_log(ports, place=place, contents=contents, windows=windows)
    _copy_topic_id(ports.files, source, target=place.directory)
    return written


def _write_log(
    ports: Ports, *, place: LogPlace, contents: NewContents, windows: SourceWindows
) -> WrittenLog:
    """Write the log and its checkpoints."""
    files, target = ports.files, place.directory
    largest = max((run.largest for run in contents.runs), default=0)
    config = replace(place.config, segment_bytes=max(place.config.segment_bytes, largest))
    is_new = not exists(files, directory_of(target))
    home = LogDirectory.open(files, directory_of(target))
    try:
        table = OpenFileCache(files, _FILES_OPEN)
        first = contents.runs[0].first if contents.runs else contents.log_start
        place = replace(place, config=config, log_start=first, high_watermark=first)
        log = Log.open(place, ports, table=table, deletions=_NoDeletions())
        max_bytes = min(SET_BYTES, config.segment_bytes)
        notes: list[str] = []
        for each in record_sets(contents, windows, max_bytes=max_bytes):
            log.append_as_follower(each.data, leader_epoch=INT32_MAX)
            notes += each.notes
        end = log.bounds.log_end
        log.set_high_watermark(end)
        log.close()
        table.close()
        start = contents.log_start if first <= contents.log_start <= end else first
        _write_checkpoints(home, place.partition, start=start if start > first else 0, end=end)
        home.is_loaded = is_new
    finally:
        home.close(broker_epoch=_NO_BROKER_EPOCH)
    return WrittenLog(start, end, notes)


@contextmanager
def _removed_on_error(files: Files, target: str) -> Iterator[None]:
    """Remove the new partition if it cannot be completed: half of a log looks like a whole one."""
    try:
        yield
    except BaseException:
        with suppress(FileNotFoundError):
            for name in files.list(target):
                files.remove(f"{target}/{name}")
            files.remove_directory(target)
        raise


def record_sets(
    contents: NewContents, windows: SourceWindows, *, max_bytes: int
) -> Iterator[RecordSet]:
    """Yield the batches in sets of at most `max_bytes` that fit into one segment."""
    held, first = RecordSet(bytearray(), []), 0
    for batch in ordered_batches(contents, windows):
        is_far = batch.last_offset - first > INT32_MAX
        if held.data and (is_far or len(held.data) + len(batch.data) > max_bytes):
            yield held
            held = RecordSet(bytearray(), [])
        if not held.data:
            first = batch.offset
        held.data.extend(batch.data)
        held.notes.extend([batch.note] if batch.note else [])
        if batch.is_marker:
            # The index has for each abort what the log has up to its marker, and not behind it.
            yield held
            held = RecordSet(bytearray(), [])
    if held.data:
        yield held


def ordered_batches(contents: NewContents, windows: SourceWindows) -> Iterator[WrittenBatch]:
    """Yield each batch and each rebuilt marker, in order."""
    markers = iter([*contents.markers, None])
    marker, epoch = next(markers), int(NO_LEADER_EPOCH)
    opened = _OpenTransactions(contents.is_unended)
    for run in contents.runs:
        for batch in batches_of(run, windows):
            while marker is not None and marker.offset < batch.offset:
                yield _rebuilt(marker, epoch)
                opened.end(marker.event.producer_id)
                marker = next(markers)
            if batch.is_doubtful and epoch != NO_LEADER_EPOCH:
                # Its file may not be that of the batches around it.
                batch = batch._replace(epoch=epoch)  # noqa: PLW2901 - the corrected batch
            epoch = max(epoch, batch.epoch)
            has_producer = opened.takes_producer(batch)
            data = _bytes_of(batch, windows, has_producer=has_producer)
            note = "" if has_producer or batch.is_doubtful else _outside_note(batch)
            yield WrittenBatch(batch.offset, batch.last_offset, data, batch.header.is_control, note)
    while marker is not None:
        yield _rebuilt(marker, epoch)
        marker = next(markers)


def _rebuilt(marker: RebuiltMarker, epoch: int) -> WrittenBatch:
    data = marker.encoded(after_epoch=epoch)
    return WrittenBatch(marker.offset, marker.offset, data, is_marker=True)


def _outside_note(batch: SalvagedBatch) -> str:
    return (
        f"offsets {batch.offset} to {batch.last_offset} are not in the open transaction"
        f" of their producer {batch.header.producer_id}: they were written without producer"
    )


def _bytes_of(batch: SalvagedBatch, windows: SourceWindows, *, has_producer: bool) -> bytearray:
    header = batch.header
    if batch.mended is None:
        data = bytearray(windows.window(batch.file).view(header.position, header.size))
    else:
        data = bytearray(batch.mended)
    data = batch.apply_to(data)
    return data if has_producer else without_transaction(data)


def _write_checkpoints(
    home: LogDirectory, partition: TopicPartition, *, start: int, end: int
) -> None:
    """Write the offsets of the new log to the checkpoints of its log directory."""
    for name, offset in (
        (LOG_START_OFFSETS, start),
        (RECOVERY_POINTS, end),
        (HIGH_WATERMARKS, end),
    ):
        offsets = {**home.checkpoints[name], partition: Offset(offset)}
        if not offset:
            del offsets[partition]
        home.write_checkpoint(name, offsets)


def _copy_topic_id(files: Files, source: str, *, target: str) -> None:
    """Copy the topic id to the new directory, if the old one has a readable one."""
    with suppress(DamagedFileError, BytesError):
        topic_id = read_partition_metadata(files, source)
        if topic_id is not None:
            write_partition_metadata(files, target, topic_id=topic_id)
