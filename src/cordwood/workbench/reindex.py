"""Offline rebuild of the indexes and producer snapshots of a partition from its log.

    check    every batch of every segment is whole, and its offsets ascend within the segment; no
             snapshot has ended a transaction whose end the log lacks; any damage stops the rebuild,
             since new indexes and snapshots would hide it
    write    offset, time and transaction index of each segment, and a snapshot at its end; leader
             epochs only if their file is damaged or missing
    keep     the snapshot at the first segment's base: only it has the producers of deleted segments
    forget   its open transactions if a cleaner has removed batches, as a broker does that opens the
             log: their markers may be among the removed batches
    report   offsets without a batch that no cleaner has removed, and a tail whose loss snapshots,
             leader epochs or the recovery point show: the new indexes are correct, and the records
             are lost

A `.log` file is never written. The lock of the log directory is held. A stop at any point is safe:

    1. the clean shutdown file is removed, so that no snapshot counts as complete
    2. new indexes are written as `.cleaned`, which the next start removes; the old ones stay
    3. all offset indexes are removed: a segment without one is recovered when it is opened
    4. the other indexes are replaced, then the offset indexes get their names
    5. the clean shutdown file is written again, if there was one

Each step is durable before the next one begins. A full disk leaves the old indexes.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from shlex import quote
from typing import Self

from cordwood.core.errors import CorruptMessageError, DamagedFileError, LogDirectoryError
from cordwood.core.ports import FileKind, Files
from cordwood.core.types import NO_OFFSET, Offset
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    LOG_START_OFFSETS,
    read_offset_checkpoint,
)
from cordwood.storage.checkpoints.clean_shutdown_file import (
    UNKNOWN_BROKER_EPOCH,
    remove_clean_shutdown,
    write_clean_shutdown,
)
from cordwood.storage.checkpoints.leader_epoch_checkpoint_file import LeaderEpochCheckpointFile
from cordwood.storage.files import file_names as names
from cordwood.storage.files.atomic_write import directory_of, read_whole
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log.crash_cleanup import segment_bases
from cordwood.storage.log.segment_recovery import recover
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_snapshot import decode_snapshot
from cordwood.storage.producers.producer_state_entry import ProducedBatch, ProducerStateEntry
from cordwood.storage.producers.producer_state_manager import (
    ProducerStateManager,
    ProducerStateManagerConfig,
)
from cordwood.storage.producers.snapshot_files import SnapshotFiles
from cordwood.storage.reader.offset_gaps import find_gaps, has_lost_records, has_start_offset
from cordwood.storage.reader.path_resolution import partition_of
from cordwood.storage.segment.abstract_index import is_in_offset_range
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentPath
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.exclusive_log import lock_directory
from cordwood.workbench.file_window import FileWindow, OnBytes, ignore_bytes
from cordwood.workbench.salvage.batch_scan import DamagedRange, WholeBatch, scan_file
from cordwood.workbench.verify.findings import Verdict, offsets_text
from cordwood.workbench.verify.log_end_witnesses import find_lost_tail, lost_tail_end
from cordwood.workbench.verify.open_transactions import OpenTransactions

_FILES_OPEN = 8
_INDEXES = (names.INDEX, names.TIME_INDEX, names.TXN_INDEX)


@dataclass(frozen=True, slots=True)
class LostOffsets:
    """The offsets from `first_offset` up to, but not including, `end_offset`."""

    first_offset: int
    end_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexReport:
    """The rebuilt files, and `warnings` about the contents of the log.

    `lost` are offsets in no batch that no cleaner has removed. `verdict` is that from before the
    rebuild, if the partition was verified.
    """

    path: str
    segments: int
    batches: int
    log_end: int
    snapshots: tuple[int, ...]
    lost: tuple[LostOffsets, ...] = ()
    warnings: tuple[str, ...] = ()
    verdict: Verdict | None = None

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps(asdict(self))


def reindex(
    files: Files,
    path: str,
    *,
    config: LogConfig,
    now_ms: int,
    on_bytes: OnBytes = ignore_bytes,
) -> ReindexReport:
    """Rebuild the indexes and snapshots of a partition.

    LogDirectoryError if a broker uses the directory, it is not a partition, or an operation on it
    is unfinished. CorruptMessageError or DamagedFileError if the log is damaged; then nothing was
    changed.
    """
    _bases(files, path)
    with lock_directory(files, directory_of(path)):
        bases = _bases(files, path)  # a broker may have rolled before the lock
        survey = _LogSurvey(files, path)
        # All segments are checked before the first file is written.
        survey.read(bases, on_bytes)
        table = OpenFileCache(files, _FILES_OPEN)
        try:
            work = _IndexRebuild(files, path)
            work.warnings += survey.warnings
            stopped = remove_clean_shutdown(files, directory_of(path))
            work.reset(bases[0], is_thinned=survey.is_thinned)
            with _NewIndexes(files, path, bases) as new:
                work.rebuild_all(table, bases, config=config, now_ms=now_ms)
                new.put_in()
            work.epochs.save()
            files.sync_directory(path)
            if stopped is not None:
                epoch = stopped.broker_epoch
                known = UNKNOWN_BROKER_EPOCH if epoch is None else epoch
                write_clean_shutdown(files, directory_of(path), broker_epoch=known)
        finally:
            table.close()
    return ReindexReport(
        path=path,
        segments=len(bases),
        batches=survey.batches,
        log_end=work.producers.map_end_offset,
        snapshots=work.snapshots.offsets,
        lost=tuple(survey.lost),
        warnings=tuple(work.warnings),
    )


class _LogSurvey:
    """The number of batches of a log, its lost offsets, and whether any offset is in no batch."""

    def __init__(self, files: Files, path: str) -> None:
        self.batches = self.log_end = 0
        self.is_thinned = False
        self.lost: list[LostOffsets] = []
        self.warnings: list[str] = []
        self._files = files
        self._path = path
        self._open = OpenTransactions()

    def read(self, bases: Sequence[int], on_bytes: OnBytes) -> None:
        """Read the headers of all segments; raise CorruptMessageError if one is damaged."""
        start = max(bases[0], self._checkpoint(LOG_START_OFFSETS))
        cleaned_to = self._checkpoint(CLEANER_OFFSETS)
        for gap in find_gaps(self._headers(bases, on_bytes), start=start, cleaned_to=cleaned_to):
            if not gap.is_compacted and gap.end_offset > start:
                self.lost.append(LostOffsets(max(gap.first_offset, start), gap.end_offset))
        self._check_ended(self.log_end)
        self._add_lost_tail(max(start, self.log_end))

    def _add_lost_tail(self, log_end: int) -> None:
        """Add what the files next to the log show; the rebuild replaces some of them."""
        found = list(find_lost_tail(self._files, self._path, log_end=log_end))
        end = lost_tail_end(found, log_end)
        if end > log_end:
            self.lost.append(LostOffsets(log_end, end))
        self.warnings += [
            f"{each.path}: {each.cause} ({offsets_text(log_end, each.end_offset)})"
            for each in found
            if each.end_offset is not None and each.end_offset > end
        ]

    def _headers(self, bases: Sequence[int], on_bytes: OnBytes) -> Iterator[BatchHeader]:
        self.log_end = bases[0]
        for base, limit in zip(bases, (*bases[1:], None), strict=True):
            self._check_ended(base)
            name = f"{self._path}/{names.segment_name(Offset(base), names.LOG)}"
            for found in _whole_batches(self._files, name, base, limit=limit, on_bytes=on_bytes):
                header = found.header
                self._follow(found)
                self.batches += 1
                is_behind_gap = has_start_offset(header) and header.base_offset > self.log_end
                self.is_thinned |= is_behind_gap or has_lost_records(header)
                self.log_end = header.next_offset
                yield header

    def _follow(self, found: WholeBatch) -> None:
        """Begin or end the transaction of a batch."""
        header, producer_id = found.header, found.header.producer_id
        if header.is_control:
            self._open.end(producer_id)
        elif header.is_transactional:
            self._open.add(
                producer_id, first_offset=header.base_offset, last_offset=header.last_offset
            )

    def _check_ended(self, offset: int) -> None:
        """Raise DamagedFileError if a snapshot has ended a transaction that is open in the log.

        A cleaner removes no marker before the data of its transaction, so the marker is lost. New
        snapshots would keep the transaction open, and read_committed readers would stop there.
        """
        path = f"{self._path}/{names.segment_name(Offset(offset), names.SNAPSHOT)}"
        try:
            states = decode_snapshot(read_whole(self._files, path), path=path)
        except (FileNotFoundError, DamagedFileError):
            return
        opened = {each.producer_id for each in states if each.has_transaction}
        for producer_id, first_offset in self._open.first_offsets():
            if producer_id not in opened:
                raise DamagedFileError(
                    f"the transaction of producer {producer_id} from offset {first_offset} on has "
                    "ended, and its marker is not in the log",
                    path=path,
                    remedy="nothing was changed; restore the log from a replica, or run: "
                    f"cordwood log salvage {quote(self._path)} --out NEWDIR",
                )

    def _checkpoint(self, name: str) -> int:
        """Return the partition's offset in a checkpoint; a damaged file counts as an empty one."""
        partition = partition_of(self._path)
        try:
            found = read_offset_checkpoint(self._files, f"{directory_of(self._path)}/{name}")
        except DamagedFileError as error:
            self.warnings.append(f"not used: {error}")
            return 0
        return 0 if partition is None else found.get(partition, 0)


class _IndexRebuild:
    """The state of a rebuild across segments: producers, their snapshots, leader epochs."""

    def __init__(self, files: Files, path: str) -> None:
        self.warnings: list[str] = []
        self.files = files
        self.path = path
        self.producers = ProducerStateManager(ProducerStateManagerConfig())
        self.snapshots = SnapshotFiles(files, path)
        self.epochs = LeaderEpochCheckpointFile(files, path)

    def reset(self, base: int, *, is_thinned: bool) -> None:
        """Remove all snapshots but the one at the first base, and begin with its producers.

        Those of a thinned log begin without their open transactions.
        """
        self.snapshots.scan()
        known = self._snapshot_at(base) if base in self.snapshots.offsets else None
        for offset in self.snapshots.offsets:
            old = self.snapshots.detach(offset) if offset != base or known is None else None
            if old is not None:
                self.files.remove(old)
        if is_thinned:
            known = [each._replace(transaction_first_offset=NO_OFFSET) for each in known or ()]
        self.producers.load(known or (), end_offset=base, now_ms=0)
        try:
            self.epochs.load()
        except DamagedFileError as error:
            self._warn(f"rebuilt: {error}")
            self.files.remove(self.epochs.path)

    def _snapshot_at(self, base: int) -> Sequence[ProducerStateEntry] | None:
        """Return the producers of a snapshot; None if it is damaged."""
        path = self.snapshots.path_of(base)
        try:
            return decode_snapshot(read_whole(self.files, path), path=path)
        except DamagedFileError as error:
            self._warn(f"removed: {error}")
            return None

    def rebuild_all(
        self, table: OpenFileCache, bases: Sequence[int], *, config: LogConfig, now_ms: int
    ) -> None:
        """Write the indexes of all segments, and the snapshots at their ends."""
        for base, following in zip(bases, (*bases[1:], 0), strict=True):
            place = SegmentPath(self.path, base)
            segment = LogSegment.open(table, place, config=config, now_ms=now_ms)
            self._rebuild(segment, following=following)

    def _rebuild(self, segment: LogSegment, *, following: int) -> None:
        """Write the indexes of one segment, and a snapshot at its end: the next one's base."""
        base = segment.base_offset
        segment.files.set_index_suffix(names.CLEANED)
        self.producers.advance(max(base, self.producers.map_end_offset))
        done = recover(segment, partial(self._replay, segment))
        assert not done.truncated_bytes, "a whole segment is not truncated"
        self.producers.advance(max(done.next_offset, base, following))
        self.snapshots.take(self.producers)
        for path in segment.paths():
            if not path.endswith(names.LOG):
                _sync(self.files, path)
        segment.files.forget()

    def _replay(self, segment: LogSegment, header: BatchHeader, data: memoryview) -> None:
        self.epochs.assign_if_later(header.partition_leader_epoch, header.base_offset)
        ended = self.producers.replay(ProducedBatch.of(header, data), self._warn)
        if ended is not None and ended[0].is_aborted:
            segment.append_aborted(AbortedTxn(*ended[0][:3], ended[1]))

    def _warn(self, *texts: str) -> None:
        self.warnings += texts


def _bases(files: Files, path: str) -> list[int]:
    """Return the base offsets; raise if this is not a partition, or a swap is unfinished."""
    try:
        parsed = map(names.parse_segment_name, files.list(path, FileKind.FILE))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise LogDirectoryError(
            "is not a directory", path=path, remedy="give the directory of a partition"
        ) from error
    if any(each is not None and _is_unfinished(each) for each in parsed):
        raise LogDirectoryError(
            "contains files of an unfinished compaction or segment split",
            path=path,
            remedy="start a broker on it and stop it: it finishes that and writes new indexes",
        )
    bases = segment_bases(files, path)
    if not bases:
        raise LogDirectoryError(
            "contains no segment", path=path, remedy="give the directory of a partition"
        )
    return bases


def _is_unfinished(name: names.SegmentName) -> bool:
    """Return whether a file belongs to a compaction or split; a `.cleaned` index alone does not."""
    is_cleaned_log = name.suffix == names.CLEANED and name.extension == names.LOG
    return is_cleaned_log or name.suffix == names.SWAP


def _whole_batches(
    files: Files, name: str, base: int, *, limit: int | None, on_bytes: OnBytes
) -> Iterator[WholeBatch]:
    """Yield the batches of a segment; raise CorruptMessageError if it is damaged."""
    file = files.open(name)
    try:
        end = base
        for piece in scan_file(FileWindow(file, file.size, on_bytes=on_bytes)):
            if isinstance(piece, DamagedRange):
                raise _damage_error(name, piece.position, piece.why)
            header = piece.header
            if piece.repairs:
                raise _damage_error(name, header.position, "wrong checksum or size")
            is_below = limit is None or header.last_offset < limit
            is_near = is_in_offset_range(header.last_offset, base)
            if header.last_offset < end or not is_below or not is_near:
                raise _damage_error(
                    name, header.position, f"offset {header.last_offset} out of order"
                )
            end = header.next_offset
            yield piece
    finally:
        file.close()


def _damage_error(name: str, position: int, why: str) -> CorruptMessageError:
    # The reason of a damaged range is often the text of an error, with its position.
    is_named = f"position {position}" in why
    return CorruptMessageError(
        f"{name}: {why}",
        position=None if is_named else position,
        remedy="nothing was changed; if only the end is torn, start a broker, which truncates it, "
        f"otherwise run: cordwood log salvage {quote(directory_of(name))} --out NEWDIR",
    )


class _NewIndexes:
    """The new indexes of a log, with the suffix `.cleaned` until they replace the old ones."""

    def __init__(self, files: Files, path: str, bases: Sequence[int]) -> None:
        self._files = files
        self._path = path
        self._bases = bases

    def __enter__(self) -> Self:
        """Remove what a stopped rebuild has left."""
        self._remove(*_INDEXES, suffix=names.CLEANED)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Remove the new indexes if they could not be written."""
        if isinstance(error, Exception):
            self._remove(*_INDEXES, suffix=names.CLEANED)

    def put_in(self) -> None:
        """Replace the old indexes; a stop leaves a segment without its offset index."""
        self._remove(names.INDEX)
        for extension in (names.TXN_INDEX, names.TIME_INDEX, names.INDEX):
            self._files.sync_directory(self._path)
            self._replace(extension)
        self._files.sync_directory(self._path)

    def _replace(self, extension: str) -> None:
        for base in self._bases:
            old = SegmentPath(self._path, base).of(extension)
            try:
                self._files.rename(f"{old}{names.CLEANED}", old)
            except FileNotFoundError:
                with suppress(FileNotFoundError):
                    self._files.remove(old)

    def _remove(self, *extensions: str, suffix: str = "") -> None:
        for base in self._bases:
            for extension in extensions:
                with suppress(FileNotFoundError):
                    self._files.remove(SegmentPath(self._path, base, suffix).of(extension))


def _sync(files: Files, path: str) -> None:
    file = files.open(path, writable=True)
    try:
        file.sync()
    finally:
        file.close()
