"""Other logs of which a damaged directory may be the rest, so that no reader can decide.

`other_history`: no checksum covers the base offset of a batch, and a cleaner leaves gaps of any
size. The new offset may fit between the neighbours, while no index, no epoch and no snapshot that
is left has the old one. Then the directory is, byte by byte, that of a log in which the batch was
written at the new offset, with the same damage elsewhere.

`has_ended`: all files are gone that a log without its last segments does not have.

`has_aborted`: the index has a false entry for a commit marker, of which all bytes are changed that
an abort has not: its type and its checksum. An abort has the same entry, and leaves the same bytes.

`zeroed_aborts`: the headers of all batches from a false marker up to the true one are zeros. Any
batches may have been there, among them the abort that the index has.
"""

import struct
from collections.abc import Collection, Iterator
from copy import deepcopy
from dataclasses import replace

from cordwood.records.record_batch import HEADER_SIZE
from cordwood.storage.segment.transaction_index import ABORTED_TXN_SIZE, AbortedTxn
from tests.adversary.damages import DamagedLog
from tests.adversary.log_layout import lay_out
from tests.adversary.planned_batch import PlannedBatch
from tests.adversary.random_logs import RandomLog, WrittenBatch, fill

EPOCHS = "leader-epoch-checkpoint"


def other_history(damage: DamagedLog) -> DamagedLog | None:
    """Return the same damage of another legal log, which has the new offsets of some batches."""
    numbers = range(len(damage.source.batches))
    moved = [number for number in numbers if has_other_history(damage, number)]
    return _with_moved(damage, moved) if moved else None


def has_other_history(damage: DamagedLog, number: int) -> bool:
    """Return whether a batch has its new offset in a legal log that leaves the same bytes.

    It is below the cleaner's checkpoint, and only its offset is changed.
    """
    log = damage.source
    batch = log.batches[number]
    rest = batch.position + 8, batch.end
    is_left = len(damage.files.get(batch.file, b"")) >= batch.end
    if not is_left or damage.is_touched(batch.file, *rest):
        return False
    move = _move_of(damage, number)
    first, last = batch.base_offset + move, batch.last_offset + move
    low, high = _room(log, number)
    if not (move and low <= first and last < min(high, log.cleaned_to)):
        return False
    return _with_moved(damage, [number]) is not None


def _move_of(damage: DamagedLog, number: int) -> int:
    """Return how far the offset of a batch was moved."""
    batch = damage.source.batches[number]
    old = batch.base_offset if batch.magic == 2 else batch.last_offset
    return int.from_bytes(damage.files[batch.file][batch.position : batch.position + 8]) - old


def _with_moved(damage: DamagedLog, numbers: Collection[int]) -> DamagedLog | None:
    """Return the damage of a log with some batches at their new offsets; None if it shows."""
    log = damage.source
    plan, segments = deepcopy((log.plan, log.segments))
    planned = [each for segment in segments for each in segment.batches]
    for number in numbers:
        batch, move = planned[number], _move_of(damage, number)
        # A cleaner has copied the batch; the plan has the one that was written. Old messages have
        # neither producers nor epochs, so only their copies count.
        written = [each for each in plan if batch.magic == 2 and _is_written_as(each, batch)]
        for each in {id(each): each for each in (batch, *written)}.values():
            _move(each, move)
        is_known = damage.files.get(EPOCHS) == log.files[EPOCHS]
        if is_known and not all(_is_in_its_epoch(each, plan) for each in written):
            return None
    other = replace(log, plan=plan, files={}, records=[], batches=[], segments=[])
    fill(other, segments)
    if not all(_leaves(damage, name, other.files.get(name, b"")) for name in damage.files):
        return None
    spans = [(each.file, each.position) for each in (log.batches[at] for at in numbers)]
    touched = [
        each
        for each in damage.touched
        if not any(each.file == file and at <= each.start < at + 8 for file, at in spans)
    ]
    return replace(damage, source=other, touched=touched)


def _is_written_as(written: PlannedBatch, left: PlannedBatch) -> bool:
    return (written.base_offset, written.last_offset) == (left.base_offset, left.last_offset)


def _move(batch: PlannedBatch, move: int) -> None:
    batch.records = tuple(each._replace(offset=each.offset + move) for each in batch.records)
    batch.base_offset += move
    batch.last_offset += move


def _is_in_its_epoch(batch: PlannedBatch, plan: Collection[PlannedBatch]) -> bool:
    """Return whether no batch of another epoch had offsets of a batch, or is on its wrong side."""
    epoch = batch.leader_epoch
    return all(
        each.last_offset < batch.base_offset
        if each.leader_epoch < epoch
        else each.base_offset > batch.last_offset
        for each in plan
        if each.leader_epoch != epoch
    )


def _leaves(damage: DamagedLog, name: str, other: bytes) -> bool:
    """Return whether another file may have become a damaged one: its unchanged bytes are there."""
    now, was = damage.files[name], damage.source.files.get(name)
    if was is None:
        return True
    return len(other) == len(was) and all(
        one == old or at >= len(now) or now[at] != old
        for at, (one, old) in enumerate(zip(other, was, strict=True))
    )


def has_ended(damage: DamagedLog, file: str) -> bool:
    """Return whether a log that has ended before a segment has all files that are left.

    They have the same bytes there, but for the damage.
    """
    log, base = damage.source, int(file[:20])
    plan = [each for each in log.plan if each.last_offset < base]
    segments = [each for each in log.segments if each.base_offset < base]
    if damage.beside or not segments:
        return False
    files = lay_out(plan, segments).files
    return all(name in files and files[name] == log.files[name] for name in damage.files)


def has_aborted(damage: DamagedLog, number: int) -> bool:
    """Return whether a log that has aborted a batch, and lost the marker, has the same bytes.

    The marker of the batch is a commit, and damaged. The index has the entry of an abort there.
    """
    log = damage.source
    planned = [each for segment in log.segments for each in segment.batches]
    ends = (at for at, each in enumerate(planned) if planned[number] in each.ends)
    at = next(ends, None)
    if at is None or planned[at].kind != "commit":
        return False
    abort = replace(planned[at], kind="abort", state="aborted")
    plan = [abort if each is planned[at] else each for each in log.plan]
    segments = [
        each._replace(batches=[abort if one is planned[at] else one for one in each.batches])
        for each in log.segments
    ]
    file = log.batches[at].file
    index = file.replace(".log", ".txnindex")
    files = lay_out(plan, segments).files
    same = {**log.files, file: files[file], index: damage.files.get(index, b"")}
    return files == same and file in damage.files and _leaves(damage, file, files[file])


def zeroed_aborts(damage: DamagedLog) -> Iterator[AbortedTxn]:
    """Yield the false entries of indexes whose markers, and the true ones, are zeros."""
    log = damage.source
    markers = [each for each in log.batches if each.kind in ("abort", "commit")]
    for name in (each for each in damage.files if each.endswith(".txnindex")):
        for entry in _aborted(damage.files[name]) - _aborted(log.files.get(name, b"")):
            own = (each for each in markers if each.producer_id == entry.producer_id)
            end = next((each for each in own if each.base_offset > entry.last_offset), None)
            if end is not None and all(
                _is_zeroed(damage, each)
                for each in log.batches
                if entry.last_offset <= each.last_offset <= end.last_offset
            ):
                yield entry


def _aborted(data: bytes) -> set[AbortedTxn]:
    whole = data[: len(data) // ABORTED_TXN_SIZE * ABORTED_TXN_SIZE]
    return {AbortedTxn(*fields) for _, *fields in struct.iter_unpack(">hqqqq", whole)}


def _is_zeroed(damage: DamagedLog, batch: WrittenBatch) -> bool:
    data = damage.files.get(batch.file, b"")
    header = data[batch.position : min(batch.end, batch.position + HEADER_SIZE)]
    return bool(header) and not any(header)


def _room(log: RandomLog, number: int) -> tuple[int, int]:
    """Return the offsets between which a batch lies in its segment; the second one is excluded."""
    batch = log.batches[number]
    others = [each for each in log.batches if each.file == batch.file]
    bases = [each.base_offset for each in log.segments]
    base = int(batch.file[:20])
    ends = [each.last_offset + 1 for each in others if each.position < batch.position]
    starts = [each.base_offset for each in others if each.position > batch.position]
    starts += [each for each in bases if each > base]
    return max([base, *ends]), min(starts, default=log.end)
