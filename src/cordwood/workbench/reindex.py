"""A partition's indexes and producer snapshots, written anew out of its log, while nobody uses it.

    look     every batch of every segment: whole, its offsets rising and within their segment; what
             is not so refuses the whole, for an index over damage would hide it
    write    index, time index and transaction index of each segment, a snapshot at the end of each;
             leader epochs only where their file is damaged or missing
    never    a byte of a `.log`

The log directory's lock is held meanwhile. Dying in the middle leaves segments without indexes,
which whoever opens the log next makes.
"""

import json
from dataclasses import asdict, dataclass
from functools import partial

from cordwood.core.errors import CorruptMessageError, DamagedFileError, LogDirectoryError
from cordwood.core.ports import Files, Kind
from cordwood.core.types import Offset
from cordwood.records.header import BatchHeader
from cordwood.storage import names
from cordwood.storage.atomic import directory_of
from cordwood.storage.epoch_file import EpochFile
from cordwood.storage.file_table import FileTable
from cordwood.storage.index import AbortedEntry, is_within_reach
from cordwood.storage.leftovers import segment_bases
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producer_state import ProducedBatch
from cordwood.storage.producers import ProducerSettings, ProducerStates
from cordwood.storage.segment import Segment
from cordwood.storage.segment_files import SegmentPath
from cordwood.storage.segment_recovery import recover
from cordwood.storage.snapshot_files import SnapshotFiles
from cordwood.workbench.locked import locked
from cordwood.workbench.salvage_batches import Damage, pieces
from cordwood.workbench.windows import Spend, Window, spend_freely

_FILES_OPEN = 8
_INDEXES = (names.INDEX, names.TIME_INDEX, names.TXN_INDEX)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexReport:
    """What was written anew; `warnings` are what was strange in the log."""

    path: str
    segments: int
    batches: int
    log_end: int
    snapshots: tuple[int, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        return json.dumps(asdict(self))


def reindex(
    files: Files,
    path: str,
    *,
    config: LogConfig,
    now_ms: int,
    spend: Spend = spend_freely,
) -> ReindexReport:
    """Write a partition's indexes and snapshots anew.

    LogDirectoryError if the directory is in use, is none, or was left in the middle of something;
    CorruptMessageError or DamagedFileError if the log is not whole: then nothing was changed.
    """
    bases = _bases(files, path)
    with locked(files, directory_of(path)):
        counts = [
            _ensure_whole(files, path, base, limit=limit, spend=spend)
            for base, limit in zip(bases, (*bases[1:], None), strict=True)
        ]
        table = FileTable(files, _FILES_OPEN)
        try:
            work = _Reindexing(files, path)
            work.begin(bases[0])
            for base in bases:
                place = SegmentPath(path, base)
                _remove_indexes(files, place)
                work.rebuild(Segment.open(table, place, config=config, now_ms=now_ms))
            files.sync_directory(path)
        finally:
            table.close()
    return ReindexReport(
        path=path,
        segments=len(bases),
        batches=sum(counts),
        log_end=work.producers.map_end_offset,
        snapshots=work.snapshots.offsets,
        warnings=tuple(work.warnings),
    )


class _Reindexing:
    """What the segments' indexes have in common: producers, their snapshots, epochs."""

    def __init__(self, files: Files, path: str) -> None:
        self.warnings: list[str] = []
        self.files = files
        self.producers = ProducerStates(ProducerSettings())
        self.snapshots = SnapshotFiles(files, path)
        self.epochs = EpochFile(files, path)

    def begin(self, base: int) -> None:
        """Forget the snapshots that there are; producers are known from the first segment on."""
        self.snapshots.find()
        self.snapshots.truncate_fully(self.producers, base)
        try:
            self.epochs.load()
        except DamagedFileError as error:
            self._warn(f"written anew: {error}")
            self.files.remove(self.epochs.path)

    def rebuild(self, segment: Segment) -> None:
        """Write one segment's indexes, and a snapshot at its end."""
        base = segment.base_offset
        self.producers.advance(max(base, self.producers.map_end_offset))
        done = recover(segment, partial(self._take, segment))
        assert not done.cut_bytes, "what is whole is not cut"
        self.producers.advance(max(done.next_offset, base))
        self.snapshots.take(self.producers)
        for path in segment.paths():
            if not path.endswith(names.LOG):
                _sync(self.files, path)
        segment.files.forget()

    def _take(self, segment: Segment, header: BatchHeader, data: memoryview) -> None:
        self.epochs.learn(header.partition_leader_epoch, header.base_offset)
        ended = self.producers.replay(ProducedBatch.of(header, data), self._warn)
        if ended is not None and ended[0].is_aborted:
            segment.append_aborted(AbortedEntry(*ended[0][:3], ended[1]))

    def _warn(self, *texts: str) -> None:
        self.warnings += texts


def _bases(files: Files, path: str) -> list[int]:
    """Return the segments there are; refuse a directory that is none or was left half done."""
    try:
        parsed = map(names.parse_segment_name, files.list(path, Kind.FILE))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LogDirectoryError(
            "is no directory", path=path, remedy="give the directory of a partition"
        ) from error
    if any(each is not None and each.suffix in {names.SWAP, names.CLEANED} for each in parsed):
        raise LogDirectoryError(
            "was left in the middle of a compaction or a split",
            path=path,
            remedy="let a broker open it and stop, which ends that; its indexes are new then",
        )
    bases = segment_bases(files, path)
    if not bases:
        raise LogDirectoryError(
            "has no segment in it", path=path, remedy="give the directory of a partition"
        )
    return bases


def _ensure_whole(files: Files, path: str, base: int, *, limit: int | None, spend: Spend) -> int:
    """Refuse a segment that is not whole; return how many batches it has."""
    name = f"{path}/{names.segment_name(Offset(base), names.LOG)}"
    file = files.open(name)
    try:
        count, end = 0, base
        for piece in pieces(Window(file, file.size, spend=spend)):
            if isinstance(piece, Damage) or piece.repairs:
                why = piece.why if isinstance(piece, Damage) else "a wrong checksum or size"
                position = piece.position if isinstance(piece, Damage) else piece.header.position
                raise _refusal(name, position, why)
            header = piece.header
            is_below = limit is None or header.last_offset < limit
            is_near = is_within_reach(header.last_offset, base)
            if header.last_offset < end or not is_below or not is_near:
                raise _refusal(name, header.position, f"offset {header.last_offset} out of order")
            count, end = count + 1, header.next_offset
    finally:
        file.close()
    return count


def _refusal(name: str, position: int, why: str) -> CorruptMessageError:
    return CorruptMessageError(
        f"{name}: {why}; nothing was changed: if it is torn at its end, let a broker open it, "
        "which cuts it off, else use cordwood log salvage",
        position=position,
    )


def _remove_indexes(files: Files, place: SegmentPath) -> None:
    """Remove what is going to be written: damaged sizes and all."""
    for extension in _INDEXES:
        try:
            files.remove(place.of(extension))
        except FileNotFoundError:
            continue


def _sync(files: Files, path: str) -> None:
    file = files.open(path, writable=True)
    try:
        file.sync()
    finally:
        file.close()
