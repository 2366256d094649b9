"""Files of a partition that show where its log has ended before.

    .snapshot                 its name is an offset that the log had reached
    leader-epoch-checkpoint   a leader assigns an epoch at the end of its log, or below it
    .index                    an entry is written with its batch
    .timeindex                likewise, or when the segment is closed

Brokers remove all of them from the end on when they truncate a log. So an offset beyond the end
proves that the log has lost its tail. After a crash the files may be ahead of records that were not
fsynced; then it is a note.

An entry of an index may be damaged itself. It counts if both of its fields agree: the position is
beyond the data of the log file, or the time is later than all times of the segment. Both also have
to be above those of the entry before. Zeros at the end of the file do not count as data. `verify`
compares the entries of indexes in `index_checks`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Final, NamedTuple

from cordwood.core.errors import CorruptMessageError, DamagedFileError
from cordwood.core.ports import FileKind, Files, SegmentSource
from cordwood.records.batch_header import LARGEST_HEADER
from cordwood.storage.checkpoints.checkpoint_files import LEADER_EPOCHS, read_epoch_checkpoint
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.files.file_names import (
    INDEX,
    LOG,
    SNAPSHOT,
    TIME_INDEX,
    parse_segment_name,
)
from cordwood.storage.files.header_scan import headers
from cordwood.storage.reader.path_resolution import partition_of
from cordwood.storage.reader.segment_listing import ListedSegment, snapshot_offsets
from cordwood.workbench.verify.checkpoint_checks import CheckpointReader, check_ends
from cordwood.workbench.verify.findings import LOST, Severity, VerifyFinding, damage, note
from cordwood.workbench.verify.index_checks import OFFSETS, TIMES, IndexKind, load_index

_INDEXES: Final[Mapping[str, IndexKind]] = {INDEX: OFFSETS, TIME_INDEX: TIMES}
_BLOCK: Final = 1 << 16
_CAUSE: Final = "the file shows that the log has lost its tail"


class LogEndWitnesses(NamedTuple):
    """Epochs, and the offsets of snapshots; records from `unsynced_from` on may be lost."""

    epochs: Sequence[EpochEntry] = ()
    snapshots: Sequence[int] = ()
    unsynced_from: int | None = None


def check_log_end(
    path: str, witnesses: LogEndWitnesses, *, log_end: int
) -> Iterator[VerifyFinding]:
    """Yield a finding for each file that contains an offset beyond the end of the log."""
    seen = {
        LEADER_EPOCHS: max((each.start_offset for each in witnesses.epochs), default=0),
        **{ListedSegment(each).name(SNAPSHOT): each for each in witnesses.snapshots},
    }
    for name, offset in seen.items():
        if offset > log_end:
            yield _finding(f"{path}/{name}", witnesses, log_end=log_end, offset=offset)


def find_lost_tail(files: Files, path: str, *, log_end: int) -> Iterator[VerifyFinding]:
    """Yield a finding for each file that shows offsets beyond the end of a partition's log.

    Checkpoints of the log directory count too. Damaged files show nothing.
    """
    ends = CheckpointReader(files).read(path, partition_of(path))
    try:
        epochs = read_epoch_checkpoint(files, f"{path}/{LEADER_EPOCHS}")
    except DamagedFileError:
        epochs = []
    snapshots = snapshot_offsets(files.list(path, FileKind.FILE))
    witnesses = LogEndWitnesses(epochs, snapshots, ends.unsynced_from)
    yield from check_log_end(path, witnesses, log_end=log_end)
    for name, offset in _indexed_offsets(files, path, log_end=log_end):
        yield _finding(f"{path}/{name}", witnesses, log_end=log_end, offset=offset)
    yield from (each for each in check_ends(path, ends, log_end=log_end) if each.end_offset)


def _indexed_offsets(files: Files, path: str, *, log_end: int) -> Iterator[tuple[str, int]]:
    """Yield the name of each index that shows an offset beyond the end, and the offset behind it.

    Only the last segment, and indexes that have lost their log, can do so.
    """
    names = [parse_segment_name(name) for name in files.list(path, FileKind.FILE)]
    parsed = [each for each in names if each is not None and not each.suffix]
    logs = {each.base_offset for each in parsed if each.extension == LOG}
    followed = logs - {max(logs, default=0)}
    with closing(DirectorySource(files, path)) as source:
        for each in parsed:
            kind = _INDEXES.get(each.extension)
            if kind is None or each.base_offset in followed:
                continue
            listed = ListedSegment(each.base_offset)
            loaded = load_index(source, listed, kind=kind, is_last=True)
            entries = list(zip(*loaded.fields, strict=True))[loaded.first :][-2:]
            shown = entries[-1][kind.relative] + 1 if entries else 0
            if shown <= log_end or not _is_ascending(entries):
                continue
            limit = _log_limit(source, listed, kind)
            if limit is not None and entries[-1][1 - kind.relative] > limit:
                yield listed.name(each.extension), shown


def _is_ascending(entries: Sequence[tuple[int, int]]) -> bool:
    """Return whether both fields of the last of two entries are above those of the first."""
    first, last = entries[0], entries[-1]
    return len(entries) == 1 or (first[0] < last[0] and first[1] < last[1])


def _log_limit(source: SegmentSource, listed: ListedSegment, kind: IndexKind) -> int | None:
    """Return the last position of a segment's log, or its latest time; None if it is damaged."""
    name = listed.name(LOG)
    try:
        size, data_end = source.stat(name).size, _data_end(source, name)
    except FileNotFoundError:
        return -1
    if kind is OFFSETS:
        return data_end - 1
    latest, position = -1, 0
    try:
        for each in headers(partial(_read, source, name), 0, size):
            latest, position = max(latest, each.max_timestamp), each.end
    except CorruptMessageError:
        # At most a header was cut off before the zeros.
        return latest if data_end - position < LARGEST_HEADER else None
    return latest


def _data_end(source: SegmentSource, name: str) -> int:
    """Return the size of a file without the zeros at its end."""
    end = source.stat(name).size
    while end:
        start = max(0, end - _BLOCK)
        kept = len(source.read(name, end - start, start).rstrip(b"\0"))
        if kept:
            return start + kept
        end = start
    return 0


def _read(source: SegmentSource, name: str, length: int, position: int) -> bytes:
    return source.read(name, length, position)


def lost_tail_end(findings: Iterable[VerifyFinding], log_end: int) -> int:
    """Return the end that the log has had, by the findings that are damage."""
    shown = [each.end_offset or 0 for each in findings if each.severity is Severity.DAMAGE]
    return max([log_end, *shown])


def _finding(path: str, witnesses: LogEndWitnesses, *, log_end: int, offset: int) -> VerifyFinding:
    if witnesses.unsynced_from is not None and log_end >= witnesses.unsynced_from:
        remedy = "nothing to do: the broker had not fsynced these records"
        return note(path, _CAUSE, remedy=remedy, first_offset=log_end, end_offset=offset)
    return damage(path, _CAUSE, remedy=LOST, first_offset=log_end, end_offset=offset)
