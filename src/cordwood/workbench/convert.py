"""Logs with another message format or codec: the same records, in a log directory of their own.

    begin     which partitions, and of each which segments, up to which offset; kept in a file, so
              that whoever goes on with a conversion does what was begun
    segment   `convert_segment`: each by itself, in any order, by anybody who reaches both places
    finish    what lies beside the segments is copied, each partition gets its place, checkpoints
              tell of it

Until then everything lies in the folder WORK of the new log directory, on which Kafka refuses to
start; the plan goes last. A segment keeps its base offset, and what becomes of it depends on
nothing else: a conversion that was stopped and begun again leaves the bytes of one that was not.
The source is only read.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import Final, NamedTuple, TypedDict

from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.core.ports import Files, Kind
from cordwood.core.types import Offset, TopicPartition
from cordwood.storage.atomic import exists, read_whole, write_atomically, write_synced
from cordwood.storage.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_epoch_checkpoint,
    write_epoch_checkpoint,
)
from cordwood.storage.log_directory import LogDirectory
from cordwood.storage.names import LOG, SNAPSHOT, parse_directory_name, segment_name
from cordwood.storage.partition_metadata import PARTITION_METADATA
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_listing import snapshot_offsets
from cordwood.storage.reader_place import partition_of
from cordwood.workbench.convert_batches import Wanted
from cordwood.workbench.convert_segment import (
    ConvertTools,
    SegmentTask,
    Tell,
    convert_segment,
    is_converted,
)
from cordwood.workbench.places import places_at

WORK: Final = ".converting"
_OLD_WORK: Final = f"{WORK}.old"
_PLAN: Final = f"{WORK}.json"
_NOBODYS_EPOCH: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPlan:
    """A partition, from its log start up to the end that it had, and its segments."""

    source: str
    name: str
    log_start: int
    log_end: int
    cleaned_to: int
    segments: tuple[SegmentTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertReport:
    """What was converted, where it is, and how large it was and is."""

    path: str
    partitions: tuple[str, ...]
    segments: int
    size_before: int
    size: int

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        return (
            f"{self.path}: {', '.join(self.partitions)}: {self.segments} segments, "
            f"{self.size_before:,} bytes are {self.size:,} now"
        )


class _Kept(TypedDict):
    """A plan as JSON keeps it."""

    source: str
    name: str
    log_start: int
    log_end: int
    cleaned_to: int
    segments: list[tuple[str, str, int, int, int, int, int]]


class Conversion(NamedTuple):
    """A conversion under way, in a log directory that is held meanwhile."""

    files: Files
    home: LogDirectory
    partitions: tuple[PartitionPlan, ...]

    @property
    def left(self) -> list[SegmentTask]:
        """The segments that are still to be converted, the largest first."""
        left = [
            task
            for plan in self.partitions
            if not exists(self.files, f"{self.home.path}/{plan.name}")
            for task in plan.segments
            if not is_converted(self.files, task)
        ]
        return sorted(left, key=lambda task: task.size, reverse=True)

    def finish(self) -> ConvertReport:
        """Give the partitions their places, when all segments are converted."""
        files, out = self.files, self.home.path
        names = {plan.name for plan in self.partitions}
        for plan in self.partitions:
            if not exists(files, f"{out}/{plan.name}"):
                folder = f"{out}/{WORK}/{plan.name}"
                _copy_beside(files, plan, folder)
                files.rename(folder, f"{out}/{plan.name}")
        files.sync_directory(out)
        self._checkpoint()
        _remove_work(files, out)
        self.home.is_loaded = names == set(self.home.partitions())
        return ConvertReport(
            path=out,
            partitions=tuple(sorted(names)),
            segments=sum(len(plan.segments) for plan in self.partitions),
            size_before=sum(task.size for plan in self.partitions for task in plan.segments),
            size=sum(_size(files, f"{out}/{plan.name}") for plan in self.partitions),
        )

    def _checkpoint(self) -> None:
        """Let the checkpoints tell of the new logs; a start that its segments tell stays out."""
        for name in (LOG_START_OFFSETS, RECOVERY_POINTS, HIGH_WATERMARKS, CLEANER_OFFSETS):
            offsets = dict(self.home.checkpoints[name])
            for plan in self.partitions:
                offset = _checkpointed(plan, name)
                if offset:
                    offsets[_partition(plan.name)] = Offset(offset)
            self.home.write_checkpoint(name, offsets)


def convert(
    tools: ConvertTools,
    paths: Sequence[str],
    *,
    out: str,
    wanted: Wanted,
    tell: Tell = lambda _size: None,
) -> ConvertReport:
    """Convert partitions and log directories into the log directory `out`, or go on with that."""
    with begun(tools.files, paths, out=out, wanted=wanted) as conversion:
        for task in conversion.left:
            convert_segment(tools, task, wanted=wanted, tell=tell)
        return conversion.finish()


@contextmanager
def begun(files: Files, paths: Sequence[str], *, out: str, wanted: Wanted) -> Iterator[Conversion]:
    """Yield a conversion that begins, or goes on; LogDirectoryError if `out` has another one."""
    home = LogDirectory.open(files, out)
    plan, told = f"{out}/{_PLAN}", {"paths": list(paths), "wanted": list(wanted)}
    try:
        if not exists(files, plan):
            plans = _plans(files, paths, out=out)
            _make_work(files, out, plans)
            partitions = [asdict(each) for each in plans]
            text = json.dumps({"told": told, "partitions": partitions})
            write_atomically(files, plan, data=text.encode())
        kept = json.loads(read_whole(files, plan))
        if kept["told"] != told:
            raise LogDirectoryError(
                f"has a conversion under way of {', '.join(kept['told']['paths'])}",
                path=out,
                remedy=f"go on with that, as it was begun, or remove {out}/{WORK} and {plan}",
            )
        yield Conversion(files, home, tuple(map(_plan_in, kept["partitions"])))
    finally:
        home.close(broker_epoch=_NOBODYS_EPOCH)
    if not exists(files, f"{out}/{WORK}"):
        files.remove(plan)
        files.sync_directory(out)


# -- planning


def _plans(files: Files, paths: Sequence[str], *, out: str) -> list[PartitionPlan]:
    plans: dict[str, PartitionPlan] = {}
    for place in (each for path in paths for each in places_at(files, path)):
        if place.only is not None:
            raise SettingError(
                "a single segment is no log", key="path", remedy="give its directory"
            )
        with closing(place.reader) as reader:
            plan = _plan_of(reader, out=out)
        if plan.name in plans or exists(files, f"{out}/{plan.name}"):
            raise LogDirectoryError(
                f"would have {plan.name} twice",
                path=out,
                remedy="give --out a directory of its own, and each partition once",
            )
        plans[plan.name] = plan
    return list(plans.values())


def _plan_of(reader: PartitionReader, *, out: str) -> PartitionPlan:
    path = reader.source.path
    partition = partition_of(path)
    if partition is None:
        raise LogDirectoryError(
            "does not say which partition it is", path=path, remedy="name it <topic>-<partition>"
        )
    bounds, beside = reader.offsets(), reader.beside()
    return PartitionPlan(
        source=path,
        name=str(partition),
        log_start=bounds.log_start,
        log_end=bounds.log_end,
        cleaned_to=beside.cleaned_to,
        segments=tuple(
            SegmentTask(
                source=path,
                folder=f"{out}/{WORK}/{partition}",
                base_offset=each.base_offset,
                start=max(each.base_offset, bounds.log_start),
                end=min(each.end_offset, bounds.log_end),
                size=each.size,
                modified_ms=each.modified_ms,
            )
            for each in reader.segments()
            if each.base_offset <= bounds.log_end
        ),
    )


def _plan_in(kept: _Kept) -> PartitionPlan:
    return PartitionPlan(
        source=kept["source"],
        name=kept["name"],
        log_start=kept["log_start"],
        log_end=kept["log_end"],
        cleaned_to=kept["cleaned_to"],
        segments=tuple(SegmentTask(*each) for each in kept["segments"]),
    )


def _make_work(files: Files, out: str, plans: Sequence[PartitionPlan]) -> None:
    """Make the folders; some may be there of a beginning that came to nothing."""
    for folder in (f"{out}/{WORK}", *(f"{out}/{WORK}/{plan.name}" for plan in plans)):
        if not exists(files, folder):
            files.make_directory(folder)


# -- finishing


def _remove_work(files: Files, out: str) -> None:
    """Remove what attempts have left that came to nothing, once partitions have their places.

    By another name first: whoever still works on an attempt can put nothing more there.
    """
    work, old = f"{out}/{WORK}", f"{out}/{_OLD_WORK}"
    if exists(files, work):
        files.rename(work, old)
        files.sync_directory(out)
    if exists(files, old):
        for attempt in files.list(old, Kind.DIRECTORY):
            for name in files.list(f"{old}/{attempt}"):
                files.remove(f"{old}/{attempt}/{name}")
            files.remove_directory(f"{old}/{attempt}")
        files.remove_directory(old)


def _copy_beside(files: Files, plan: PartitionPlan, folder: str) -> None:
    """Copy what else a partition's directory has: topic id, leader epochs, producers."""
    names = files.list(plan.source, Kind.FILE)
    snapshots = [each for each in snapshot_offsets(names) if each <= plan.log_end]
    copied = [PARTITION_METADATA] if PARTITION_METADATA in names else []
    copied += [segment_name(Offset(each), SNAPSHOT) for each in snapshots]
    for name in copied:
        data = read_whole(files, f"{plan.source}/{name}")
        write_synced(files, f"{folder}/{name}", data=data)
    epochs = read_epoch_checkpoint(files, f"{plan.source}/{LEADER_EPOCHS}")
    known = [each for each in epochs if each.start_offset < plan.log_end]
    write_epoch_checkpoint(files, f"{folder}/{LEADER_EPOCHS}", entries=known)
    files.sync_directory(folder)


def _checkpointed(plan: PartitionPlan, name: str) -> int:
    if name == LOG_START_OFFSETS:
        is_told = any(task.base_offset == plan.log_start for task in plan.segments)
        return 0 if is_told else plan.log_start
    return plan.cleaned_to if name == CLEANER_OFFSETS else plan.log_end


def _partition(name: str) -> TopicPartition:
    return parse_directory_name(name, path=name).partition


def _size(files: Files, path: str) -> int:
    names = [name for name in files.list(path, Kind.FILE) if name.endswith(LOG)]
    return sum(files.stat(f"{path}/{name}").size for name in names)
