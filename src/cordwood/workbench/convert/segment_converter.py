"""Conversion of one segment: read, write with new indexes, rename.

    <token>/….cleaned            written and fsynced, in a directory of this attempt
    t-0/….timeindex, ….log       renamed one by one, the `.log` of the base offset last

So a segment with a `.log` under its final name is complete. Two attempts write the same bytes and
do not interfere. An attempt that outlives its job fails to rename once the partition has been moved
to its final place. Damage in the source raises an error with file and position.
"""

from contextlib import closing
from typing import Final, NamedTuple

from cordwood.compaction.passes.segment_writer import CleanedSegmentWriter
from cordwood.core.errors import BadRecordsError
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
    """

    source: str
    folder: str
    base_offset: int
    start: int
    end: int
    size: int
    modified_ms: int


def is_converted(files: Files, task: SegmentTask) -> bool:
    """Return whether the converted segment exists."""
    return exists(files, f"{task.folder}/{segment_name(Offset(task.base_offset), LOG)}")


def convert_segment(
    files: Files, task: SegmentTask, *, options: ConvertOptions, random: Random, on_bytes: OnBytes
) -> None:
    """Convert a segment, unless that is done already; `random` names the attempt."""
    if is_converted(files, task):
        return
    attempt = f"{directory_of(task.folder)}/{random.token(_TOKEN_BYTES).hex()}"
    files.make_directory(attempt)
    writer = CleanedSegmentWriter(files, attempt, config=LogConfig())
    with closing(reader_of(files, task.source)) as reader, closing(writer):
        writer.begin(task.base_offset)
        converter = BatchConverter(options)
        has_transactions = False
        for run in reader.buffers(task.start, task.end):
            has_transactions = has_transactions or run.has_transactions
            _convert_run(converter, run, writer)
            on_bytes(len(run.data))
        for data in converter.end():
            writer.append(data)
        aborted = _find_aborted(reader, task) if has_transactions else []
        made = writer.finish(aborted, modified_ms=task.modified_ms)
    for segment in reversed(made):
        _rename_segment(files, attempt, task.folder, base_offset=segment.base_offset)
    files.remove_directory(attempt)


def _convert_run(
    converter: BatchConverter, run: SegmentBatchRun, writer: CleanedSegmentWriter
) -> None:
    try:
        for batch in batches(run.data):
            for data in converter.convert(batch):
                writer.append(data)
    except BadRecordsError as error:
        raise with_location(error, run.path, shift=run.position) from error


def _find_aborted(reader: PartitionReader, task: SegmentTask) -> list[AbortedTxn]:
    """Return the aborted transactions with their marker in the segment."""
    found = TransactionReader(reader).aborted_between(task.start, task.end)
    return [each for each in found if task.start <= each.last_offset < task.end]


def _rename_segment(files: Files, attempt: str, folder: str, *, base_offset: int) -> None:
    """Move the files of a segment to their final names, the log last."""
    stem = segment_name(Offset(base_offset), "")
    written = [name for name in files.list(attempt) if name.startswith(stem)]
    for name in sorted(written, key=lambda name: name == f"{stem}{LOG}{CLEANED}"):
        files.rename(f"{attempt}/{name}", f"{folder}/{name.removesuffix(CLEANED)}")
    files.sync_directory(folder)
