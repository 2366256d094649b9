"""From a damaged partition's directory a new one, with everything that can be read, at its offsets.

    read     every .log and .log.swap of the source, whatever it is called, batch by batch
    order    what no checksum covers is held against its neighbours; files that overlap become one
    write    a log of our own takes the batches as a replica does: segments, indexes, epochs,
             aborted transactions, snapshots are new, and so are the checkpoints beside

The source is only read. What was not salvaged is in the report, offset by offset. The new directory
lies in a log directory that is made if there is none; nothing there is written over.
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
from cordwood.core.ports import Clock, Files, Kind, Random
from cordwood.core.types import Offset, TopicPartition
from cordwood.storage import names
from cordwood.storage.atomic import directory_of, exists
from cordwood.storage.checkpoints import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_epoch_checkpoint,
    read_offset_checkpoint,
)
from cordwood.storage.epochs import LeaderEpochs
from cordwood.storage.file_table import FileTable
from cordwood.storage.loading import LogPlace, LogTools
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.partition_metadata import read_partition_metadata, write_partition_metadata
from cordwood.storage.reader_place import partition_of
from cordwood.workbench.salvage_batches import pieces
from cordwood.workbench.salvage_chain import Bounds, Chain, Salvaged, chain_of
from cordwood.workbench.salvage_merge import Merged, merge, stretches
from cordwood.workbench.salvage_report import (
    MISSING,
    Offsets,
    SalvageReport,
    doubtful,
    losses,
    mended,
)
from cordwood.workbench.unreadable import Unreadable
from cordwood.workbench.windows import Spend, Window, spend_freely

#: As much is written at a time.
SET_BYTES: Final = 1 << 20

_FILES_OPEN: Final = 8
_NOBODYS_EPOCH: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvageTools:
    """What a salvage works with. `config` says how the new segments are cut.

    `unreadable` gathers what the disk of the source cannot read.
    """

    files: Files
    clock: Clock
    random: Random
    config: LogConfig = field(default_factory=LogConfig)
    spend: Spend = spend_freely
    unreadable: Unreadable = field(default_factory=Unreadable)


class SourceFile(NamedTuple):
    """A file to be salvaged, its rank, and the base offset that its name says, if it says one."""

    name: str
    rank: int
    base: int | None


class Known(NamedTuple):
    """What the files beside the log say: where it starts, offsets that may be its end, epochs."""

    log_start: int
    marks: frozenset[int]
    end: int
    epochs: LeaderEpochs
    notes: tuple[str, ...]


def salvage(
    tools: SalvageTools, source: str, *, out: str, partition: TopicPartition | None = None
) -> SalvageReport:
    """Salvage a partition's directory into the log directory `out`, and say what came of it.

    The partition is what the source's name says, unless it is given.
    """
    found = source_files(tools.files, source)
    partition = partition or _named_by(source)
    target = _target(tools.files, source, out, partition)
    known = _known(tools.files, source, partition)
    found, chains = _chains(tools, source, found, known)
    merged = merge(chains)
    if not merged.batches:
        raise LogDirectoryError(
            "has no batch in it that can be read", path=source, remedy="there is nothing to salvage"
        )
    log_start, log_end = _written(tools, partition, target, merged, known)
    _set_topic_id(tools.files, source, target)
    batches = merged.batches
    start = min([log_start, *(each.base for each in found if each.base is not None)])
    start = max(start, known.log_start if known.log_start < log_end else 0)
    paths = [f"{source}/{each.name}" for each in found]
    gone = list(losses(batches, stretches(paths, chains), start=start, known_end=known.end))
    return SalvageReport(
        source=source,
        path=target,
        partition=str(partition),
        log_start=log_start,
        log_end=log_end,
        batches=len(batches),
        size=sum(_size(batch) for batch in batches),
        lost=tuple(each for each in gone if not _is_gap(each, log_end)),
        doubtful=tuple(doubtful(batches)),
        mended=tuple(mended(batches)),
        gaps=tuple(each for each in gone if _is_gap(each, log_end)),
        notes=(*known.notes, *_notes(merged), *_unread(tools.unreadable)),
    )


def source_files(files: Files, source: str) -> list[SourceFile]:
    """Return the files to be read, best first; LogDirectoryError if there is none."""
    try:
        listed = files.list(source, Kind.FILE)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LogDirectoryError(
            "is no directory", path=source, remedy="give the directory of a partition"
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
            "has no segment in it",
            path=source,
            remedy="give the directory of a partition, <log directory>/<topic>-<partition>",
        )
    return sorted(found, key=lambda each: (each.rank, each.base or 0, each.name))


def _named_by(source: str) -> TopicPartition:
    """Return the partition that a directory's name says, if it is one that Kafka knows."""
    partition = partition_of(source)
    try:
        if partition is not None:
            names.ensure_topic_name(partition.topic)
            return partition
    except InvalidTopicError:
        pass
    raise LogDirectoryError(
        "has a name that says no partition",
        path=source,
        remedy="say which it is with --partition <topic>-<partition>",
    )


def _target(files: Files, source: str, out: str, partition: TopicPartition) -> str:
    """Return the directory to be made; refuse one that is there."""
    target = f"{out}/{names.directory_name(partition)}"
    if exists(files, target) or f"{out}/".startswith(f"{source}/"):
        raise LogDirectoryError(
            "is there already", path=target, remedy="give --out a directory of its own"
        )
    return target


def _chains(
    tools: SalvageTools, source: str, found: list[SourceFile], known: Known
) -> tuple[list[SourceFile], list[Chain]]:
    """Read the files; those that whole ones were about to take the place of are left out."""
    read: list[tuple[SourceFile, Chain]] = []
    covered = range(0)
    for file in found:
        if file.rank and file.base is not None and file.base in covered:
            continue
        chain = _chain(tools, f"{source}/{file.name}", file, found, known)
        read.append((file, chain))
        if file.rank == 0 and chain.batches and not chain.damages and file.base is not None:
            first = min(file.base, covered.start) if covered else file.base
            covered = range(first, max(covered.stop, chain.batches[-1].next_offset))
    return [file for file, _ in read], [chain for _, chain in read]


def _chain(
    tools: SalvageTools, path: str, file: SourceFile, found: Sequence[SourceFile], known: Known
) -> Chain:
    """Read one file."""
    bases = sorted({each.base for each in found if each.base is not None and each.rank < 2})
    later = [base for base in bases if file.base is not None and base > file.base]
    bounds = Bounds(file.base, later[0] if later else None, known.marks)
    opened = tools.files.open(path)
    try:
        window = Window(opened, opened.size, spend=tools.spend, unreadable=tools.unreadable)
        return chain_of(path, pieces(window), bounds=bounds, epoch_for=known.epochs.epoch_for)
    finally:
        opened.close()


# -- what else is known


def _known(files: Files, source: str, partition: TopicPartition) -> Known:
    """Read what lies beside the log; what is damaged of it is told and not believed."""
    notes: list[str] = []
    beside = directory_of(source)
    offsets = {
        name: _checkpoint(files, f"{beside}/{name}", partition, notes)
        for name in (LOG_START_OFFSETS, RECOVERY_POINTS, HIGH_WATERMARKS)
    }
    epochs = LeaderEpochs()
    try:
        epochs = LeaderEpochs(read_epoch_checkpoint(files, f"{source}/{LEADER_EPOCHS}"))
    except (DamagedFileError, ValueError) as error:
        notes.append(f"leader epochs are not known: {error}")
    parsed = [names.parse_segment_name(name) for name in files.list(source, Kind.FILE)]
    snapshots = {
        each.base_offset
        for each in parsed
        if each is not None and each.extension == names.SNAPSHOT and not each.suffix
    }
    ends = {offsets[RECOVERY_POINTS], offsets[HIGH_WATERMARKS]}
    return Known(
        offsets[LOG_START_OFFSETS],
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


def _notes(merged: Merged) -> Iterator[str]:
    """Say what was left out and is not lost."""
    if merged.duplicates:
        yield f"{merged.duplicates} batches were there twice"
    for batch in merged.contradicting:
        yield (
            f"{batch.file}: the batch at position {batch.header.position} says that it has the "
            f"offsets {batch.offset} to {batch.last_offset}, which others have or which do not "
            "follow; it is left out"
        )


def _unread(unreadable: Unreadable) -> Iterator[str]:
    for each in unreadable.stretches():
        yield f"{each.path}: {each.cause}, from position {each.position} on"


def _is_gap(offsets: Offsets, log_end: int) -> bool:
    """Whether compaction may have made this: inside the log, and nothing is damaged there."""
    return offsets.why == MISSING and offsets.first < log_end


# -- the new log


class _NoDeletions:
    """A log that only grows deletes nothing."""

    def remove_later(self, paths: object, *, delay_ms: int) -> None:
        """Is never called."""


def _written(
    tools: SalvageTools,
    partition: TopicPartition,
    target: str,
    merged: Merged,
    known: Known,
) -> tuple[int, int]:
    """Write the log and its checkpoints; return where it starts and ends."""
    files = tools.files
    largest = max(map(_size, merged.batches))
    config = replace(tools.config, segment_bytes=max(tools.config.segment_bytes, largest))
    is_new = not exists(files, directory_of(target))
    home = LogDirectory.open(files, directory_of(target))
    try:
        table = FileTable(files, _FILES_OPEN)
        first = merged.batches[0].offset
        place = LogPlace(
            partition=partition,
            directory=target,
            config=config,
            is_clean=True,
            log_start=first,
            high_watermark=first,
        )
        log_tools = LogTools(table=table, random=tools.random, deletions=_NoDeletions())
        log = Log.open(place, log_tools, clock=tools.clock)
        most = min(SET_BYTES, config.segment_bytes)
        for data in sets(tools, merged.batches, most=most):
            log.append_as_follower(data, leader_epoch=INT32_MAX)
        end = log.bounds.log_end
        log.set_high_watermark(end)
        log.close()
        table.close()
        start = known.log_start if first <= known.log_start <= end else first
        _checkpoint_beside(home, partition, start=start if start > first else 0, end=end)
        home.is_loaded = is_new
    finally:
        home.close(broker_epoch=_NOBODYS_EPOCH)
    return start, end


def sets(tools: SalvageTools, batches: Sequence[Salvaged], *, most: int) -> Iterator[bytearray]:
    """Yield the bytes of the batches, as many at a time as are `most` bytes and fit a segment."""
    held, first = bytearray(), 0
    windows: dict[str, Window] = {}
    with ExitStack() as stack:
        for batch in batches:
            if batch.file not in windows:
                file = tools.files.open(batch.file)
                stack.callback(file.close)
                windows[batch.file] = Window(
                    file, file.size, spend=tools.spend, unreadable=tools.unreadable
                )
            window, header = windows[batch.file], batch.header
            data = batch.mended or window.view(header.position, header.size)
            is_far = batch.last_offset - first > INT32_MAX
            if held and (is_far or len(held) + len(data) > most):
                yield held
                held = bytearray()
            if not held:
                first = batch.offset
            held += batch.set_in(bytearray(data))
        yield held


def _checkpoint_beside(
    home: LogDirectory, partition: TopicPartition, *, start: int, end: int
) -> None:
    """Write the new log's offsets into the checkpoints of its log directory."""
    for name, offset in (
        (LOG_START_OFFSETS, start),
        (RECOVERY_POINTS, end),
        (HIGH_WATERMARKS, end),
    ):
        offsets = {**home.checkpoints[name], partition: Offset(offset)}
        if not offset:
            del offsets[partition]
        home.write_checkpoint(name, offsets)


def _set_topic_id(files: Files, source: str, target: str) -> None:
    """Let the new directory be of the same topic, where the old one says which."""
    with suppress(DamagedFileError, BytesError):
        topic_id = read_partition_metadata(files, source)
        if topic_id is not None:
            write_partition_metadata(files, target, topic_id=topic_id)


def _size(batch: Salvaged) -> int:
    return len(batch.mended) if batch.mended is not None else batch.header.size
