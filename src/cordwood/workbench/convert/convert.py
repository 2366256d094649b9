"""Conversion of logs to another message format or compression type, in a new log directory.

    plan      the partitions, their segments, and the end offsets; stored in a file, so that an
              interrupted conversion is resumed with the same plan
    segment   `convert_segments`: independent of each other, in any order, in any process
    finish    copy the other files of each partition, move it to its place, write checkpoints

Until it is finished, everything is in the directory WORK of the new log directory; Kafka does not
start on a log directory with it. The plan file is removed last. A segment keeps its base offset,
and its bytes depend only on its source and the options. So an interrupted and resumed conversion
writes the same bytes. The source is only read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Final, NamedTuple, TypedDict

from cordwood.core.counts import counted
from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.core.ports import FileKind, Files, Random
from cordwood.core.types import Offset, TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_epoch_checkpoint,
    write_epoch_checkpoint,
)
from cordwood.storage.checkpoints.partition_metadata_file import PARTITION_METADATA
from cordwood.storage.files.atomic_write import exists, read_whole, write_atomically, write_synced
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.files.file_names import LOG, SNAPSHOT, parse_directory_name, segment_name
from cordwood.storage.manager.log_directory import LogDirectory
from cordwood.storage.producers.producer_snapshot import encode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducerStateEntry
from cordwood.storage.reader.partition_reader import (
    PartitionCheckpoints,
    PartitionReader,
    ReaderOffsets,
    SegmentDescription,
)
from cordwood.storage.reader.path_resolution import (
    partition_of,
    read_high_watermark,
    reader_of,
)
from cordwood.storage.reader.producer_states import load_producer_states, read_snapshot
from cordwood.storage.reader.segment_listing import snapshot_offsets
from cordwood.workbench.convert.batch_converter import ConvertOptions
from cordwood.workbench.convert.segment_converter import (
    SegmentTask,
    convert_segments,
    is_converted,
)
from cordwood.workbench.file_window import OnBytes, ignore_bytes
from cordwood.workbench.partition_paths import find_targets
from cordwood.workbench.verify.findings import VerifyFinding, offsets_text
from cordwood.workbench.verify.log_end_witnesses import find_lost_tail, lost_tail_end

WORK: Final = ".converting"
_OLD_WORK: Final = f"{WORK}.old"
_PLAN: Final = f"{WORK}.json"
_NO_BROKER_EPOCH: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlan:
    """A partition to convert, from its log start to its end when the plan was made."""

    source: str
    name: str
    log_start: int
    log_end: int
    cleaned_to: int
    segments: tuple[SegmentTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertReport:
    """The converted partitions, their size before and after, and their moved log starts.

    `missing` are offsets in no batch that no cleaner explains: the first one and the end.
    """

    path: str
    partitions: tuple[str, ...]
    segments: int
    size_before: int
    size: int
    moved_log_starts: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        moved = "".join(
            f"\n{self.path}: {name}: the log start has moved to {offset} during the conversion"
            for name, offset in self.moved_log_starts.items()
        )
        lost = "".join(
            f"\n{self.path}: {name}: missing: {offsets_text(*each)}, not removed by a cleaner"
            for name, ranges in self.missing.items()
            for each in ranges
        )
        return (
            f"{self.path}: {', '.join(self.partitions)}: {counted(self.segments, 'segment')}, "
            f"{self.size_before:,} bytes converted to {self.size:,}{moved}{lost}"
        )


class _StoredPlan(TypedDict):
    """The JSON form of a `PartitionPlan`."""

    source: str
    name: str
    log_start: int
    log_end: int
    cleaned_to: int
    segments: list[tuple[str, str, int, int, int, int, int, int, int, bool]]


class Conversion(NamedTuple):
    """A conversion in progress; the new log directory is locked."""

    files: Files
    home: LogDirectory
    partitions: tuple[PartitionPlan, ...]

    @property
    def remaining(self) -> list[SegmentTask]:
        """Return the segments that are not converted yet, by partition and offset."""
        return [
            task
            for plan in self.partitions
            if not exists(self.files, f"{self.home.path}/{plan.name}")
            for task in plan.segments
            if not is_converted(self.files, task)
        ]

    def finish(self) -> ConvertReport:
        """Move the partitions to their places; all segments must be converted."""
        files, out = self.files, self.home.path
        names = {plan.name for plan in self.partitions}
        plans = [_with_log_start(files, plan, out=out) for plan in self.partitions]
        for plan in plans:
            if not exists(files, f"{out}/{plan.name}"):
                folder = f"{out}/{WORK}/{plan.name}"
                _copy_side_files(files, plan, folder)
                files.rename(folder, f"{out}/{plan.name}")
        files.sync_directory(out)
        self._checkpoint(plans)
        _remove_work(files, out)
        self.home.is_loaded = names == set(self.home.partitions())
        return ConvertReport(
            path=out,
            partitions=tuple(sorted(names)),
            segments=sum(len(plan.segments) for plan in self.partitions),
            size_before=sum(task.size for plan in self.partitions for task in plan.segments),
            size=sum(_size(files, f"{out}/{plan.name}") for plan in self.partitions),
            moved_log_starts={
                plan.name: plan.log_start
                for plan, before in zip(plans, self.partitions, strict=True)
                if plan.log_start != before.log_start
            },
            missing={plan.name: found for plan in plans if (found := tuple(_missing(files, plan)))},
        )

    def _checkpoint(self, plans: Sequence[PartitionPlan]) -> None:
        """Write the offsets of the new logs; a log start at a segment's base needs no entry."""
        for name in (LOG_START_OFFSETS, RECOVERY_POINTS, HIGH_WATERMARKS, CLEANER_OFFSETS):
            offsets = dict(self.home.checkpoints[name])
            for plan in plans:
                offset = _checkpoint_offset(self.files, plan, name)
                if offset:
                    offsets[_partition(plan.name)] = Offset(offset)
            self.home.write_checkpoint(name, offsets)


def convert(
    files: Files,
    paths: Sequence[str],
    *,
    out: str,
    options: ConvertOptions,
    random: Random,
    on_bytes: OnBytes = ignore_bytes,
) -> ConvertReport:
    """Convert partitions and log directories into the log directory `out`, or resume that."""
    with open_conversion(files, paths, out=out, options=options) as conversion:
        tasks = conversion.remaining
        convert_segments(files, tasks, options=options, random=random, on_bytes=on_bytes)
        return conversion.finish()


@contextmanager
def open_conversion(
    files: Files, paths: Sequence[str], *, out: str, options: ConvertOptions
) -> Iterator[Conversion]:
    """Yield a new or resumed conversion; LogDirectoryError if `out` contains another one."""
    home = LogDirectory.open(files, out)
    # The keys `told` and `wanted` are part of the stored format.
    plan, request = f"{out}/{_PLAN}", {"paths": list(paths), "wanted": list(options)}
    try:
        if not exists(files, plan):
            plans = _plans(files, paths, out=out)
            _make_work(files, out, plans)
            partitions = [asdict(each) for each in plans]
            text = json.dumps({"told": request, "partitions": partitions})
            write_atomically(files, plan, data=text.encode())
        yield Conversion(files, home, _read_plan(files, plan, request=request, out=out))
    finally:
        home.close(broker_epoch=_NO_BROKER_EPOCH)
    if not exists(files, f"{out}/{WORK}"):
        files.remove(plan)
        files.sync_directory(out)


# -- planning


def _plans(files: Files, paths: Sequence[str], *, out: str) -> list[PartitionPlan]:
    plans: dict[str, PartitionPlan] = {}
    for place in (each for path in paths for each in find_targets(files, path)):
        if place.only is not None:
            raise SettingError(
                "path: is a single segment, not a log", key="path", remedy="give its directory"
            )
        with closing(place.reader) as reader:
            plan = _plan_partition(files, reader, out=out)
        if plan.name in plans or exists(files, f"{out}/{plan.name}"):
            raise LogDirectoryError(
                f"would contain {plan.name} twice",
                path=out,
                remedy="give a new directory for --out, and each partition once",
            )
        plans[plan.name] = plan
    return list(plans.values())


def _plan_partition(files: Files, reader: PartitionReader, *, out: str) -> PartitionPlan:
    path = reader.source.path
    partition = partition_of(path)
    if partition is None:
        raise LogDirectoryError(
            "is not named after a partition",
            path=path,
            remedy="rename it to <topic>-<partition>",
        )
    bounds, checkpoints = reader.offsets(), reader.checkpoints()
    _ensure_whole_end(files, reader)
    folder = f"{out}/{WORK}/{partition}"
    listed = [each for each in reader.segments() if each.base_offset <= bounds.log_end]
    return PartitionPlan(
        source=path,
        name=str(partition),
        log_start=bounds.log_start,
        log_end=bounds.log_end,
        cleaned_to=checkpoints.cleaned_to,
        segments=tuple(_plan_segment(reader, each, bounds, folder=folder) for each in listed),
    )


def _ensure_whole_end(files: Files, reader: PartitionReader) -> None:
    """Raise LogDirectoryError if files next to the log show that it has lost its tail.

    They are compared again before that: a broker may have rolled the log meanwhile.
    """
    path = reader.source.path
    before, end = -1, reader.offsets().log_end
    found: list[VerifyFinding] = []
    while before != end:
        found = list(find_lost_tail(files, path, log_end=end))
        if lost_tail_end(found, end) == end:
            return
        before, end = end, reader.offsets().log_end
    lost = offsets_text(end, lost_tail_end(found, end))
    first = next(each for each in found if (each.end_offset or 0) > end)
    raise LogDirectoryError(
        f"{lost} at the end: missing, as {first.path} shows",
        path=path,
        remedy="restore it from a replica, or run cordwood log salvage and convert the result",
    )


def _plan_segment(
    reader: PartitionReader, segment: SegmentDescription, bounds: ReaderOffsets, *, folder: str
) -> SegmentTask:
    """Return the task of a segment; its bytes are the whole file, or a part up to the log end."""
    base = segment.base_offset
    start, end = max(base, bounds.log_start), min(segment.end_offset, bounds.log_end)
    is_last = end == bounds.log_end
    last = reader.find(end - 1) if is_last and start < end else None
    position = _position_of(reader, segment, start) if base < start < end else 0
    data_end = last.header.end if last is not None and last.segment_base == base else segment.size
    return SegmentTask(
        source=reader.source.path,
        folder=folder,
        base_offset=base,
        start=start,
        end=end,
        size=segment.size,
        modified_ms=segment.modified_ms,
        position=position,
        planned_bytes=data_end - position if start < end else 0,
        is_last=is_last,
    )


def _position_of(reader: PartitionReader, segment: SegmentDescription, offset: int) -> int:
    """Return the position of the first batch from an offset on; the end of the file without one.

    A cleaner may have removed the last batches of the segment.
    """
    first = reader.find(offset)
    is_here = first is not None and first.segment_base == segment.base_offset
    return first.header.position if first is not None and is_here else segment.size


def _read_plan(
    files: Files, path: str, *, request: Mapping[str, object], out: str
) -> tuple[PartitionPlan, ...]:
    """Return the stored plans; LogDirectoryError if they are damaged, or of another conversion."""
    try:
        stored = json.loads(read_whole(files, path))
        known, partitions = stored["told"], stored["partitions"]
        paths = ", ".join(known["paths"])
        plans = tuple(_parse_plan(each, path) for each in partitions)
    except (ValueError, KeyError, TypeError) as error:
        raise LogDirectoryError(
            "not the plan of a conversion, or damaged",
            path=path,
            remedy=f"remove it and {path.removesuffix('.json')}, and convert again",
        ) from error
    if known != request:
        raise LogDirectoryError(
            f"contains an unfinished conversion of {paths}",
            path=out,
            remedy=f"repeat it with the same options, or remove {out}/{WORK} and {path}",
        )
    return plans


def _parse_plan(stored: _StoredPlan, path: str) -> PartitionPlan:
    if any(len(each) != len(SegmentTask._fields) for each in stored["segments"]):
        raise LogDirectoryError(
            "the plan of a conversion by an earlier version, without the sizes to verify",
            path=path,
            remedy=f"remove it and {path.removesuffix('.json')}, and convert again",
        )
    return PartitionPlan(
        source=stored["source"],
        name=stored["name"],
        log_start=stored["log_start"],
        log_end=stored["log_end"],
        cleaned_to=stored["cleaned_to"],
        segments=tuple(SegmentTask(*each) for each in stored["segments"]),
    )


def _make_work(files: Files, out: str, plans: Sequence[PartitionPlan]) -> None:
    """Create the directories; some may exist from an interrupted start."""
    for folder in (f"{out}/{WORK}", *(f"{out}/{WORK}/{plan.name}" for plan in plans)):
        if not exists(files, folder):
            files.make_directory(folder)


# -- finishing


def _with_log_start(files: Files, plan: PartitionPlan, *, out: str) -> PartitionPlan:
    """Return the plan of what was converted: from the log start that the source has now.

    Raise LogDirectoryError if a segment at or above this start is missing, or the last one: the new
    log would end below its start.
    """
    place = f"{out}/{plan.name}"
    is_moved = exists(files, place)
    folder = place if is_moved else f"{out}/{WORK}/{plan.name}"
    converted = tuple(t for t in plan.segments if is_converted(files, t._replace(folder=folder)))
    log_start = max(plan.log_start, min(_log_start(files, plan.source), plan.log_end))
    left = {task.base_offset for task in converted}
    missing = [task for task in plan.segments if task.base_offset not in left]
    if any(task.end > log_start or task is plan.segments[-1] for task in missing):
        raise LogDirectoryError(
            f"{len(missing)} of {len(plan.segments)} segments are not converted: they have been "
            f"deleted since the conversion was planned",
            path=plan.source,
            remedy=f"remove {out}/{WORK} and {out}/{_PLAN}, and convert it again",
        )
    return replace(plan, log_start=log_start, segments=converted)


def _log_start(files: Files, source: str) -> int:
    """Return the present log start of a source, 0 if it does not exist any more."""
    try:
        with closing(reader_of(files, source)) as reader:
            return reader.log_start()
    except LogDirectoryError:
        return 0


def _remove_work(files: Files, out: str) -> None:
    """Remove the work directory with the files of failed attempts.

    It is renamed first, so that an attempt that still runs cannot add files to it.
    """
    work, old = f"{out}/{WORK}", f"{out}/{_OLD_WORK}"
    if exists(files, work):
        files.rename(work, old)
        files.sync_directory(out)
    if exists(files, old):
        for attempt in files.list(old, FileKind.DIRECTORY):
            for name in files.list(f"{old}/{attempt}"):
                files.remove(f"{old}/{attempt}/{name}")
            files.remove_directory(f"{old}/{attempt}")
        files.remove_directory(old)


def _copy_side_files(files: Files, plan: PartitionPlan, folder: str) -> None:
    """Copy the other files of a partition: topic id, leader epochs, undamaged snapshots."""
    names = files.list(plan.source, FileKind.FILE)
    if PARTITION_METADATA in names:
        data = read_whole(files, f"{plan.source}/{PARTITION_METADATA}")
        write_synced(files, f"{folder}/{PARTITION_METADATA}", data=data)
    with closing(reader_of(files, plan.source)) as reader:
        for offset in snapshot_offsets(names):
            states = read_snapshot(reader, offset) if offset <= plan.log_end else None
            if states is not None:
                _write_snapshot(files, folder, offset, states)
    _complete_snapshots(files, plan, folder)
    epochs = read_epoch_checkpoint(files, f"{plan.source}/{LEADER_EPOCHS}")
    known = [each for each in epochs if each.start_offset < plan.log_end]
    write_epoch_checkpoint(files, f"{folder}/{LEADER_EPOCHS}", entries=known)
    files.sync_directory(folder)


def _complete_snapshots(files: Files, plan: PartitionPlan, folder: str) -> None:
    """Write the snapshot of the log end, which the log of a running or crashed broker lacks.

    A clean stop leaves one: a broker that finds none replays nothing, and forgets the transactions
    that are open.
    """
    checkpoints = PartitionCheckpoints(plan.log_start, plan.cleaned_to)
    source = DirectorySource(files, folder)
    with closing(PartitionReader(source, lambda: checkpoints)) as reader:
        if plan.log_end == plan.log_start or read_snapshot(reader, plan.log_end) is not None:
            return
        end = plan.log_end
        producers = load_producer_states(reader, high_watermark=end, log_end=end)
        _write_snapshot(files, folder, end, list(producers.producers.values()))


def _write_snapshot(
    files: Files, folder: str, offset: int, states: list[ProducerStateEntry]
) -> None:
    path = f"{folder}/{segment_name(Offset(offset), SNAPSHOT)}"
    write_synced(files, path, data=encode_snapshot(states))


def _missing(files: Files, plan: PartitionPlan) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the source in no batch that no cleaner explains."""
    with suppress(LogDirectoryError), closing(reader_of(files, plan.source)) as reader:
        for gap in reader.gaps(plan.log_start, plan.log_end):
            if not gap.is_compacted:
                yield gap.first_offset, gap.end_offset


def _checkpoint_offset(files: Files, plan: PartitionPlan, name: str) -> int:
    """Return an offset of the new log; its high watermark is not above that of the source."""
    if name == HIGH_WATERMARKS:
        known = read_high_watermark(files, plan.source)
        return plan.log_end if known is None else max(plan.log_start, min(known, plan.log_end))
    if name == LOG_START_OFFSETS:
        is_base = plan.segments[0].base_offset == plan.log_start
        return 0 if is_base else plan.log_start
    return plan.cleaned_to if name == CLEANER_OFFSETS else plan.log_end


def _partition(name: str) -> TopicPartition:
    return parse_directory_name(name, path=name).partition


def _size(files: Files, path: str) -> int:
    names = [name for name in files.list(path, FileKind.FILE) if name.endswith(LOG)]
    return sum(files.stat(f"{path}/{name}").size for name in names)
