"""Directory to salvage: its log files by rank, and the facts in its checkpoints and snapshots."""

from bisect import bisect_left
from typing import NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import DamagedFileError, LogDirectoryError
from cordwood.core.ports import FileKind, Files
from cordwood.core.types import Offset, TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_epoch_checkpoint,
    read_offset_checkpoint,
)
from cordwood.storage.checkpoints.leader_epoch_cache import LeaderEpochCache
from cordwood.storage.files import file_names as names
from cordwood.storage.files.atomic_write import directory_of, read_whole
from cordwood.storage.reader.path_resolution import partition_of
from cordwood.workbench.salvage.indexed_offsets import indexed_offsets
from cordwood.workbench.salvage.offset_witnesses import OffsetWitnesses, SnapshotFile


class SourceFile(NamedTuple):
    """A file to salvage, its rank, and the base offset in its name, None if there is none."""

    name: str
    rank: int
    base: int | None


class SideFileFacts(NamedTuple):
    """The facts in checkpoints and snapshots: log start, possible ends of the log, epochs.

    A cleaner has worked on the offsets below `cleaned_to`. The log has begun at `first_offset` or
    before: an index of a segment or a leader epoch shows it. `orphans` are the base offsets of
    segments whose logs are gone or empty, and their indexes are not. `snapshots` are the offsets of
    snapshots, in order. `is_brokers`: a file has the name of one that a broker writes.
    """

    first_offset: int
    log_start: int
    cleaned_to: int
    marks: frozenset[int]
    end: int
    epochs: LeaderEpochCache
    orphans: tuple[int, ...]
    is_brokers: bool
    notes: tuple[str, ...]
    snapshots: tuple[int, ...] = ()

    def witnesses(
        self, files: Files, source: str, *, base: int, end: int | None, suffix: str = ""
    ) -> OffsetWitnesses:
        """Return the witnesses of a segment; without `end` it is the last one.

        Its indexes have the suffix of its log.
        """
        offsets = self.snapshots
        at = len(offsets) - 1 if end is None else bisect_left(offsets, end)
        has_snapshot = 0 <= at < len(offsets) and offsets[at] > base
        first = self.epochs.earliest
        return OffsetWitnesses(
            indexed_offsets(files, source, base=base, suffix=suffix),
            epochs=self.epochs.entries,
            # A log directory without checkpoints does not have the log start either.
            has_first_epoch=bool(self.end and first and self.log_start < first.start_offset),
            snapshot=SnapshotFile(files, source, offsets[at]) if has_snapshot else None,
        )


def source_files(files: Files, source: str) -> list[SourceFile]:
    """Return the files to read, best rank first; LogDirectoryError if there is none."""
    try:
        listed = files.list(source, FileKind.FILE)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LogDirectoryError(
            "is not a directory", path=source, remedy="give the directory of a partition"
        ) from error
    parsed = {name: names.parse_segment_name(name) for name in listed}
    has_cleaned = any(each is not None and each.suffix == names.CLEANED for each in parsed.values())
    found = []
    for name, each in parsed.items():
        if each is None and name.endswith(names.LOG):
            found.append(SourceFile(name, 3, None))
        elif each is not None and each.extension == names.LOG:
            rank = {names.SWAP: 2 if has_cleaned else 0, "": 1}.get(each.suffix)
            if rank is not None:
                found.append(SourceFile(name, rank, each.base_offset))
    if not found:
        raise LogDirectoryError(
            "contains no segment",
            path=source,
            remedy="give the directory of a partition, <log directory>/<topic>-<partition>",
        )
    return sorted(found, key=lambda each: (each.rank, each.base or 0, each.name))


def side_file_facts(files: Files, source: str) -> SideFileFacts:
    """Read the checkpoints and snapshots; damaged files are reported and ignored.

    The checkpoints are those of the partition that the source is named after. A directory with
    another name has none.
    """
    notes: list[str] = []
    partition = partition_of(source)
    if partition is not None and source.rpartition("/")[2] != str(partition):
        partition = None
    log_directory = directory_of(source)
    offsets = {
        name: _checkpoint(files, f"{log_directory}/{name}", partition, notes)
        for name in (LOG_START_OFFSETS, CLEANER_OFFSETS, RECOVERY_POINTS, HIGH_WATERMARKS)
    }
    epochs = LeaderEpochCache()
    try:
        epochs = LeaderEpochCache(read_epoch_checkpoint(files, f"{source}/{LEADER_EPOCHS}"))
    except (DamagedFileError, ValueError) as error:
        notes.append(f"leader epochs are unknown: {error}")
    parsed = [names.parse_segment_name(name) for name in files.list(source, FileKind.FILE)]
    snapshots = {
        int(each.base_offset)
        for each in parsed
        if each is not None and each.extension == names.SNAPSHOT and not each.suffix
    }
    starts = [
        *(each.base_offset for each in parsed if each is not None and _is_of_segment(each)),
        *(each.start_offset for each in epochs.entries[:1]),
    ]
    ends = {offsets[RECOVERY_POINTS], offsets[HIGH_WATERMARKS]}
    return SideFileFacts(
        min(starts, default=INT64_MAX),
        offsets[LOG_START_OFFSETS],
        offsets[CLEANER_OFFSETS],
        frozenset(ends | snapshots),
        max(ends),
        epochs,
        _orphans(files, source),
        bool(epochs.entries) or any(each is not None for each in parsed),
        tuple(notes),
        tuple(sorted(snapshots)),
    )


def _orphans(files: Files, source: str) -> tuple[int, ...]:
    """Return the base offsets of segments that have an index and no log, in order.

    A log without a byte is none if its index has entries. A cleaner leaves both empty, and the last
    segment may be empty, next to indexes that are allocated in advance.
    """
    found = [
        (each, files.stat(f"{source}/{name}").size)
        for name in files.list(source, FileKind.FILE)
        if (each := names.parse_segment_name(name)) is not None and _is_of_segment(each)
    ]
    logs: dict[int, int] = {}
    for each, size in found:
        if each.extension == names.LOG:
            logs[each.base_offset] = max(size, logs.get(each.base_offset, 0))
    last = max(logs, default=0)
    return tuple(
        sorted(
            {
                each.base_offset
                for each, size in found
                if each.base_offset not in logs
                or (size and not logs[each.base_offset] and each.base_offset != last)
            }
        )
    )


def begun_end(files: Files, source: str, *, base: int) -> int:
    """Return the lowest end of a segment that has had records by its time index, else 0.

    A broker may allocate the files of a new segment in advance: both have only zeros then.
    """
    try:
        data = read_whole(files, f"{source}/{names.segment_name(Offset(base), names.TIME_INDEX)}")
    except FileNotFoundError:
        return 0
    return base + 1 if data.strip(b"\0") else 0


def _is_of_segment(name: names.SegmentName) -> bool:
    """Return whether a segment has had this file: its log or an index.

    One that a cleaner has finished has them with a suffix first.
    """
    return name.suffix in {"", names.SWAP} and name.extension != names.SNAPSHOT


def _checkpoint(files: Files, path: str, partition: TopicPartition | None, notes: list[str]) -> int:
    try:
        found = read_offset_checkpoint(files, path)
        return 0 if partition is None else max(0, found.get(partition, 0))
    except DamagedFileError as error:
        notes.append(str(error))
        return 0
