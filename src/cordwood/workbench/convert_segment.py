"""One segment converted: read, written anew with its indexes, given its name.

    <token>/….cleaned            written and synced, in a folder of this attempt's own
    t-0/….timeindex, ….log       renamed one by one, the `.log` that has the base offset last

So a segment whose `.log` has its name is whole, and two attempts, which write the same bytes, do
not come in each other's way. An attempt that outlives who asked for it finds no folder any more,
once the partition has its place. Damage in the source ends an attempt, and names file and position.
"""

from collections.abc import Callable
from contextlib import closing
from typing import Final, NamedTuple

from cordwood.compaction.cleaned import CleanedWriter
from cordwood.core.errors import BadRecordsError
from cordwood.core.ports import Files, Random
from cordwood.core.types import Offset
from cordwood.records.stream import batches
from cordwood.storage.atomic import directory_of, exists
from cordwood.storage.index import AbortedEntry
from cordwood.storage.log_config import LogConfig
from cordwood.storage.names import CLEANED, LOG, segment_name
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_place import reader_of
from cordwood.storage.reader_segments import located
from cordwood.storage.reader_transactions import ReaderTransactions
from cordwood.storage.reader_walk import BatchRun
from cordwood.workbench.convert_batches import BatchConverter, Wanted

_TOKEN_BYTES: Final = 8

#: Is told of every byte that was read.
Tell = Callable[[int], object]


class SegmentTask(NamedTuple):
    """A segment to be converted: its offsets from `start` up to, not including, `end`.

    `start` is above the base offset where the log has been cut there. The `folder` is the
    partition's, attempts lie beside it. Size and time are the source's.
    """

    source: str
    folder: str
    base_offset: int
    start: int
    end: int
    size: int
    modified_ms: int


class ConvertTools(NamedTuple):
    """What a conversion works with; `random` names its attempts."""

    files: Files
    random: Random


def is_converted(files: Files, task: SegmentTask) -> bool:
    """Whether a segment is there already."""
    return exists(files, f"{task.folder}/{segment_name(Offset(task.base_offset), LOG)}")


def convert_segment(tools: ConvertTools, task: SegmentTask, *, wanted: Wanted, tell: Tell) -> None:
    """Convert a segment, unless it is there already."""
    files = tools.files
    if is_converted(files, task):
        return
    attempt = f"{directory_of(task.folder)}/{tools.random.token(_TOKEN_BYTES).hex()}"
    files.make_directory(attempt)
    writer = CleanedWriter(files, attempt, config=LogConfig())
    with closing(reader_of(files, task.source)) as reader, closing(writer):
        writer.begin(task.base_offset)
        converter = BatchConverter(wanted)
        has_transactions = False
        for run in reader.buffers(task.start, task.end):
            has_transactions = has_transactions or run.has_transactions
            _convert_run(converter, run, writer)
            tell(len(run.data))
        for data in converter.end():
            writer.append(data)
        aborted = _aborted(reader, task) if has_transactions else []
        made = writer.finish(aborted, modified_ms=task.modified_ms)
    for segment in reversed(made):
        _take_place(files, attempt, task.folder, base_offset=segment.base_offset)
    files.remove_directory(attempt)


def _convert_run(converter: BatchConverter, run: BatchRun, writer: CleanedWriter) -> None:
    try:
        for batch in batches(run.data):
            for data in converter.take(batch):
                writer.append(data)
    except BadRecordsError as error:
        raise located(error, run.path, shift=run.position) from error


def _aborted(reader: PartitionReader, task: SegmentTask) -> list[AbortedEntry]:
    """Return the aborted transactions whose markers are in the segment."""
    found = ReaderTransactions(reader).aborted_between(task.start, task.end)
    return [each for each in found if task.start <= each.last_offset < task.end]


def _take_place(files: Files, attempt: str, folder: str, *, base_offset: int) -> None:
    """Give the files of a segment their names, the log its last."""
    stem = segment_name(Offset(base_offset), "")
    written = [name for name in files.list(attempt) if name.startswith(stem)]
    for name in sorted(written, key=lambda name: name == f"{stem}{LOG}{CLEANED}"):
        files.rename(f"{attempt}/{name}", f"{folder}/{name.removesuffix(CLEANED)}")
    files.sync_directory(folder)
