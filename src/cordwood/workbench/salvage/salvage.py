"""Recovery of a damaged partition into a new directory: all readable records, at their offsets.

    scan     every `.log` and `.log.swap` file of the source, under any name, batch by batch
    order    correct the fields that no checksum covers, and merge overlapping files
    write    append the batches to a new log as a replica does, which creates segments, indexes,
             epochs, aborted transactions and snapshots; then write the checkpoints

The source is only read. The report lists every offset that was not salvaged. The new directory is
created in a log directory, which is created if missing; existing partitions are not overwritten.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import (
    BytesError,
    DamagedFileError,
    InvalidTopicError,
    LogDirectoryError,
)
from cordwood.core.ports import FileKind, Files, OpenFile, Ports
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
from cordwood.storage.checkpoints.partition_metadata_file import (
    read_partition_metadata,
    write_partition_metadata,
)
from cordwood.storage.files import file_names as names
from cordwood.storage.files.atomic_write import directory_of, exists
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_loader import LogPlace
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.reader.offset_gaps import has_lost_records
from cordwood.storage.reader.path_resolution import partition_of
from cordwood.workbench.file_window import FileWindow, OnBytes, ignore_bytes
from cordwood.workbench.salvage.batch_chain import (
    BatchChain,
    FileBounds,
    SalvagedBatch,
    build_chain,
)
from cordwood.workbench.salvage.batch_scan import scan_file
from cordwood.workbench.salvage.file_merge import MergedLog, damaged_offsets, merge_chains
from cordwood.workbench.salvage.salvage_report import (
    MISSING,
    ReportedOffsets,
    SalvageReport,
    find_doubtful,
    find_losses,
    find_mended,
)
from cordwood.workbench.unreadable_ranges import UnreadablePages

#: The size of one append to the new log.
SET_BYTES: Final = 1 << 20

_FILES_OPEN: Final = 8
_NO_BROKER_EPOCH: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageOptions:
    """Options of a salvage: the config of the new log, and a callback for the bytes read."""

    config: LogConfig = field(default_factory=LogConfig)
    on_bytes: OnBytes = ignore_bytes


DEFAULT_OPTIONS: Final = SalvageOptions()


@dataclass(frozen=True, slots=True)
class SourceReads:
    """Reads of the source: unreadable pages are read as zeros, and recorded."""

    files: Files
    on_bytes: OnBytes = ignore_bytes
    unreadable: UnreadablePages = field(default_factory=UnreadablePages)

    def window(self, file: OpenFile) -> FileWindow:
        """Return a window over a file of the source."""
        return FileWindow(file, file.size, on_bytes=self.on_bytes, unreadable=self.unreadable)


class SourceFile(NamedTuple):
    """A file to salvage, its rank, and the base offset in its name, None if there is none."""

    name: str
    rank: int
    base: int | None


class SideFileFacts(NamedTuple):
    """The facts in checkpoints and snapshots: log start, possible ends of the log, epochs.

    A cleaner has worked on the offsets below `cleaned_to`.
    """

    log_start: int
    cleaned_to: int
    marks: frozenset[int]
    end: int
    epochs: LeaderEpochCache
    notes: tuple[str, ...]


def salvage(
    ports: Ports,
    source: str,
    *,
    out: str,
    partition: TopicPartition | None = None,
    options: SalvageOptions = DEFAULT_OPTIONS,
) -> SalvageReport:
    """Salvage a partition's directory into the log directory `out`, and return the report.

    Without `partition` the new directory has the name of the source.
    """
    files = ports.files
    reads = SourceReads(files, options.on_bytes)
    found = source_files(files, source)
    partition = partition or _partition_of(source)
    target = _target(files, source, out, partition)
    known = _side_file_facts(files, source, partition)
    found, chains = _read_chains(reads, source, found, known)
    merged = merge_chains(chains)
    if not merged.batches:
        raise LogDirectoryError(
            "contains no readable batch",
            path=source,
            remedy="restore it from a backup or a replica",
        )
    place = LogPlace(partition=partition, directory=target, config=options.config, is_clean=True)
    log_start, log_end = _write_log(ports, place, merged, known=known, reads=reads)
    _copy_topic_id(files, source, target)
    batches = merged.batches
    start = min([log_start, *(each.base for each in found if each.base is not None)])
    start = max(start, known.log_start if known.log_start < log_end else 0)
    paths = [f"{source}/{each.name}" for each in found]
    gone = list(
        find_losses(batches, damaged_offsets(paths, chains), start=start, known_end=known.end)
    )
    cleaned_to = _cleaned_to(batches, known.cleaned_to)
    return SalvageReport(
        source=source,
        path=target,
        partition=str(partition),
        log_start=log_start,
        log_end=log_end,
        batches=len(batches),
        size=sum(_size(batch) for batch in batches),
        lost=tuple(each for each in gone if not _is_gap(each, cleaned_to)),
        doubtful=tuple(find_doubtful(batches)),
        mended=tuple(find_mended(batches)),
        gaps=tuple(each for each in gone if _is_gap(each, cleaned_to)),
        notes=(*known.notes, *_notes(merged), *_unreadable_notes(reads.unreadable)),
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


def _partition_of(source: str) -> TopicPartition:
    """Return the partition that a directory is named after; LogDirectoryError for other names."""
    partition = partition_of(source)
    try:
        if partition is not None:
            names.ensure_topic_name(partition.topic)
            return partition
    except InvalidTopicError:
        pass
    raise LogDirectoryError(
        "is not named after a partition",
        path=source,
        remedy="name the partition with --partition <topic>-<partition>",
    )


def _target(files: Files, source: str, out: str, partition: TopicPartition) -> str:
    """Return the directory to create; LogDirectoryError if it exists, or is in the source."""
    target = f"{out}/{names.directory_name(partition)}"
    if exists(files, target) or f"{out}/".startswith(f"{source}/"):
        raise LogDirectoryError(
            "already exists", path=target, remedy="choose another directory for --out"
        )
    return target


def _read_chains(
    reads: SourceReads, source: str, found: list[SourceFile], known: SideFileFacts
) -> tuple[list[SourceFile], list[BatchChain]]:
    """Read the files, without the segments that an undamaged `.swap` file was about to replace."""
    read: list[tuple[SourceFile, BatchChain]] = []
    covered = range(0)
    for file in found:
        if file.rank and file.base is not None and file.base in covered:
            continue
        chain = _read_chain(reads, f"{source}/{file.name}", file, found, known)
        read.append((file, chain))
        if file.rank == 0 and chain.batches and not chain.damages and file.base is not None:
            first = min(file.base, covered.start) if covered else file.base
            covered = range(first, max(covered.stop, chain.batches[-1].next_offset))
    return [file for file, _ in read], [chain for _, chain in read]


def _read_chain(
    reads: SourceReads,
    path: str,
    file: SourceFile,
    found: Sequence[SourceFile],
    known: SideFileFacts,
) -> BatchChain:
    """Read one file."""
    bases = sorted({each.base for each in found if each.base is not None and each.rank < 2})
    later = [base for base in bases if file.base is not None and base > file.base]
    bounds = FileBounds(file.base, later[0] if later else None, known.marks)
    opened = reads.files.open(path)
    try:
        window = reads.window(opened)
        return build_chain(path, scan_file(window), bounds=bounds, epoch_for=known.epochs.epoch_for)
    finally:
        opened.close()


# -- checkpoints and snapshots


def _side_file_facts(files: Files, source: str, partition: TopicPartition) -> SideFileFacts:
    """Read the checkpoints and snapshots; damaged files are reported and ignored."""
    notes: list[str] = []
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
        each.base_offset
        for each in parsed
        if each is not None and each.extension == names.SNAPSHOT and not each.suffix
    }
    ends = {offsets[RECOVERY_POINTS], offsets[HIGH_WATERMARKS]}
    return SideFileFacts(
        offsets[LOG_START_OFFSETS],
        offsets[CLEANER_OFFSETS],
        frozenset(ends | snapshots),
        max(ends),
        epochs,
        tuple(notes),
    )


def _checkpoint(files: Files, path: str, partition: TopicPartition, notes: list[str]) -> int:
    try:
        return max(0, read_offset_checkpoint(files, path).get(partition, 0))
    except DamagedFileError as error:
        notes.append(str(error))
        return 0


def _notes(merged: MergedLog) -> Iterator[str]:
    """Yield notes about batches that were left out without a loss."""
    if merged.duplicates:
        yield f"{merged.duplicates} duplicate batches were left out"
    for batch in merged.contradicting:
        yield (
            f"{batch.file}: the batch at position {batch.header.position} was left out: its offsets"
            f" {batch.offset} to {batch.last_offset} are out of order, or in other batches too"
        )


def _unreadable_notes(unreadable: UnreadablePages) -> Iterator[str]:
    for each in unreadable.ranges():
        yield f"{each.path}: {each.cause}, from position {each.position} on"


def _is_gap(offsets: ReportedOffsets, cleaned_to: int) -> bool:
    """Return whether a cleaner explains missing offsets: below `cleaned_to`, without damage."""
    is_below = offsets.last is not None and offsets.last < cleaned_to
    return offsets.why == MISSING and is_below


def _cleaned_to(batches: Sequence[SalvagedBatch], checkpoint: int) -> int:
    """Return the offset inside the log below which a cleaner has worked.

    Two facts show it: the cleaner's checkpoint, and undamaged batches that have lost records.
    """
    seen = (
        each.next_offset
        for each in batches
        if not each.is_doubtful and has_lost_records(each.header)
    )
    return min(max(checkpoint, *seen, 0), batches[-1].next_offset)


# -- the new log


class _NoDeletions:
    """Deletions of a log that only grows: there are none."""

    def remove_later(self, paths: object, *, delay_ms: int) -> None:
        """Do nothing; never called."""


def _write_log(
    ports: Ports, place: LogPlace, merged: MergedLog, *, known: SideFileFacts, reads: SourceReads
) -> tuple[int, int]:
    """Write the log and its checkpoints; return the start and the end of the log."""
    files, target = ports.files, place.directory
    largest = max(map(_size, merged.batches))
    config = replace(place.config, segment_bytes=max(place.config.segment_bytes, largest))
    is_new = not exists(files, directory_of(target))
    home = LogDirectory.open(files, directory_of(target))
    try:
        table = OpenFileCache(files, _FILES_OPEN)
        first = merged.batches[0].offset
        place = replace(place, config=config, log_start=first, high_watermark=first)
        log = Log.open(place, ports, table=table, deletions=_NoDeletions())
        max_bytes = min(SET_BYTES, config.segment_bytes)
        for data in record_sets(reads, merged.batches, max_bytes=max_bytes):
            log.append_as_follower(data, leader_epoch=INT32_MAX)
        end = log.bounds.log_end
        log.set_high_watermark(end)
        log.close()
        table.close()
        start = known.log_start if first <= known.log_start <= end else first
        _write_checkpoints(home, place.partition, start=start if start > first else 0, end=end)
        home.is_loaded = is_new
    finally:
        home.close(broker_epoch=_NO_BROKER_EPOCH)
    return start, end


def record_sets(
    reads: SourceReads, batches: Sequence[SalvagedBatch], *, max_bytes: int
) -> Iterator[bytearray]:
    """Yield the bytes of the batches in sets of at most `max_bytes` that fit into one segment."""
    held, first = bytearray(), 0
    windows: dict[str, FileWindow] = {}
    with ExitStack() as stack:
        for batch in batches:
            if batch.file not in windows:
                file = reads.files.open(batch.file)
                stack.callback(file.close)
                windows[batch.file] = reads.window(file)
            window, header = windows[batch.file], batch.header
            data = batch.mended or window.view(header.position, header.size)
            is_far = batch.last_offset - first > INT32_MAX
            if held and (is_far or len(held) + len(data) > max_bytes):
                yield held
                held = bytearray()
            if not held:
                first = batch.offset
            held += batch.apply_to(bytearray(data))
        yield held


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


def _copy_topic_id(files: Files, source: str, target: str) -> None:
    """Copy the topic id to the new directory, if the old one has a readable one."""
    with suppress(DamagedFileError, BytesError):
        topic_id = read_partition_metadata(files, source)
        if topic_id is not None:
            write_partition_metadata(files, target, topic_id=topic_id)


def _size(batch: SalvagedBatch) -> int:
    return len(batch.mended) if batch.mended is not None else batch.header.size
