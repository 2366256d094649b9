"""Conversion of one segment: read, write with new indexes, rename.

    <token>/….cleaned            written and fsynced, in a directory of this attempt
    t-0/….timeindex, ….log       renamed one by one, the `.log` of the base offset last

So a segment with a `.log` under its final name is complete. The number of bytes read must be that
of the plan, unless the log start has moved since. Two attempts write the same bytes and do not
interfere. An attempt that outlives its job fails to rename once the partition has been moved
to its final place. Damage in the source raises an error with file and position.
"""

from collections.abc import Iterable
from contextlib import closing
from itertools import groupby
from typing import Final, NamedTuple

from cordwood.compaction.passes.segment_writer import CleanedSegmentWriter
from cordwood.core.errors import (
    BadRecordsError,
    LogDirectoryError,
    UnsupportedForMessageFormatError,
)
from cordwood.core.ports import Files, Random
from cordwood.core.types import Offset
from cordwood.records.batch_stream import batches
from cordwood.storage.files.atomic_write import directory_of, exists
from cordwood.storage.files.file_names import CLEANED, LOG, segment_name
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import reader_of
from cordwood.storage.reader.reader_segment import with_location
from cordwood.storage.reader.segment_walk import SegmentBatchRun
from cordwood.storage.reader.transaction_reader import TransactionReader
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.convert.batch_converter import BatchConverter, ConvertOptions
from cordwood.workbench.file_window import OnBytes

_TOKEN_BYTES: Final = 8


class SegmentTask(NamedTuple):
    """A segment to convert, from `start` up to but not including `end`.

    `start` is above the base offset if the log start is inside the segment. `folder` is the new
    partition's directory; attempts are stored next to it. Size and time are those of the source.
    The batches of the range are `planned_bytes` from `position` on. `is_last`: they end the log.
    """

    source: str
    folder: str
    base_offset: int
    start: int
    end: int
    size: int
    modified_ms: int
    position: int
    planned_bytes: int
    is_last: bool


def is_converted(files: Files, task: SegmentTask) -> bool:
    """Return whether the converted segment exists."""
    return exists(files, f"{task.folder}/{segment_name(Offset(task.base_offset), LOG)}")


def convert_segments(
    files: Files,
    tasks: Iterable[SegmentTask],
    *,
    options: ConvertOptions,
    random: Random,
    on_bytes: OnBytes,
) -> None:
    """Convert segments, unless that is done already; `random` names the attempts.

    Consecutive segments of one partition share a listing of its directory. A segment that retention
    has deleted since the plan is left out. Raise LogDirectoryError if the source has changed in
    another way.
    """
    for source, own in groupby(tasks, key=lambda task: task.source):
        with closing(reader_of(files, source)) as reader:
            conversion = _SegmentConversion(files, reader, options, random, on_bytes)
            for task in own:
                conversion.convert(task)


class _ReadPart(NamedTuple):
    """The bytes read for a segment, and the place of the first one."""

    size: int = 0
    segment_base: int = 0
    position: int = 0
    has_transactions: bool = False


class _SegmentConversion:
    """The conversion of segments of one partition."""

    __slots__ = ("_files", "_on_bytes", "_options", "_random", "_reader", "_transactions", "_walk")

    def __init__(  # tidy: allow[parameters] the parts of one conversion
        self,
        files: Files,
        reader: PartitionReader,
        options: ConvertOptions,
        random: Random,
        on_bytes: OnBytes,
    ) -> None:
        self._files = files
        self._reader = reader
        self._options = options
        self._random = random
        self._on_bytes = on_bytes
        self._walk = reader.walk()
        self._transactions: TransactionReader | None = None

    def convert(self, task: SegmentTask) -> None:
        """Convert a segment, unless it is; leave nothing if retention has deleted it."""
        files = self._files
        if is_converted(files, task):
            return
        attempt = f"{directory_of(task.folder)}/{self._random.token(_TOKEN_BYTES).hex()}"
        files.make_directory(attempt)
        writer = CleanedSegmentWriter(files, attempt, config=LogConfig())
        with closing(writer):
            writer.begin(task.base_offset)
            part = self._write(task, writer)
            is_left = part.size == task.planned_bytes or _is_left(self._reader, task, part)
            aborted = self._find_aborted(task) if is_left and part.has_transactions else []
            made = writer.finish(aborted, modified_ms=task.modified_ms)
        if not is_left:
            for name in files.list(attempt):
                files.remove(f"{attempt}/{name}")
        else:
            for segment in reversed(made):
                _rename_segment(files, attempt, task.folder, base_offset=segment.base_offset)
        files.remove_directory(attempt)

    def _write(self, task: SegmentTask, writer: CleanedSegmentWriter) -> _ReadPart:
        converter, part = BatchConverter(self._options), _ReadPart()
        if task.start < task.end:
            for run in self._walk.buffers(task.start, task.end):
                part = _with_run(part, run)
                _convert_run(converter, run, writer)
                self._on_bytes(len(run.data))
        for data in converter.end():
            writer.append(data)
        if task.is_last and converter.left_out is not None:
            raise UnsupportedForMessageFormatError(
                f"{task.source}: the last batch has no records, and magic 1 has no such batch: the"
                f" log would end before offset {converter.left_out}; convert to v2"
            )
        return part

    def _find_aborted(self, task: SegmentTask) -> list[AbortedTxn]:
        """Return the aborted transactions with their marker in the segment."""
        if self._transactions is None:
            self._transactions = TransactionReader(self._reader)
        found = self._transactions.aborted_between(task.start, task.end)
        return [each for each in found if task.start <= each.last_offset < task.end]


def _with_run(part: _ReadPart, run: SegmentBatchRun) -> _ReadPart:
    first = part if part.size else _ReadPart(0, run.segment_base, run.position)
    has_transactions = part.has_transactions or run.has_transactions
    return first._replace(size=part.size + len(run.data), has_transactions=has_transactions)


def _is_left(reader: PartitionReader, task: SegmentTask, part: _ReadPart) -> bool:
    """Return whether the rest of a segment was read, whose beginning retention has deleted.

    Return False if all of the segment is deleted. Raise LogDirectoryError if bytes are missing, or
    differ, for another reason.
    """
    log_start = reader.log_start()
    if log_start >= task.end > task.start:
        return False
    is_same_file = part.segment_base == task.base_offset
    rest = task.planned_bytes - (part.position - task.position)
    if log_start > task.start and is_same_file and part.size == rest:
        return True
    _ensure_read_once(reader, task, part)
    bounds = reader.offsets()
    raise LogDirectoryError(
        f"offsets {task.start} to {task.end - 1} have changed since the conversion was planned "
        f"({task.planned_bytes} bytes planned, {part.size} read; the log has offsets "
        f"{bounds.log_start} to {bounds.log_end - 1} now)",
        path=task.source,
        remedy="remove the unfinished conversion, and convert it again when no broker changes it",
    )


def _ensure_read_once(reader: PartitionReader, task: SegmentTask, part: _ReadPart) -> None:
    """Raise LogDirectoryError if bytes of an unchanged file were left out.

    A read leaves out batches whose offsets are not above those of the batches before.
    """
    name = segment_name(Offset(task.base_offset), LOG)
    try:
        found = reader.source.stat(name)
    except FileNotFoundError:
        return
    left_out = task.planned_bytes - part.size
    if (found.size, found.modified_ms) != (task.size, task.modified_ms) or left_out <= 0:
        return
    raise LogDirectoryError(
        f"{left_out} bytes are batches with offsets that earlier batches have, between offsets "
        f"{task.start} and {task.end - 1}",
        path=f"{task.source}/{name}",
        remedy="run cordwood log verify to find them, then cordwood log salvage, and convert the "
        "result",
    )


def _convert_run(
    converter: BatchConverter, run: SegmentBatchRun, writer: CleanedSegmentWriter
) -> None:
    try:
        for batch in batches(run.data):
            for data in converter.convert(batch):
                writer.append(data)
    except BadRecordsError as error:
        raise with_location(error, run.path, shift=run.position) from error
    except UnsupportedForMessageFormatError as error:
        raise UnsupportedForMessageFormatError(f"{run.path}: {error}") from error


def _rename_segment(files: Files, attempt: str, folder: str, *, base_offset: int) -> None:
    """Move the files of a segment to their final names, the log last."""
    stem = segment_name(Offset(base_offset), "")
    written = [name for name in files.list(attempt) if name.startswith(stem)]
    for name in sorted(written, key=lambda name: name == f"{stem}{LOG}{CLEANED}"):
        files.rename(f"{attempt}/{name}", f"{folder}/{name.removesuffix(CLEANED)}")
    files.sync_directory(folder)
