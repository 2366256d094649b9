"""Files of a random log: segments with their indexes, producer snapshots, epochs, metadata."""

import struct
from typing import NamedTuple

import google_crc32c

from tests.adversary.batch_bytes import EncodedBatch
from tests.adversary.planned_batch import PlannedBatch, PlannedSegment

#: Bytes between two entries of an index; small, so that small logs have some.
INTERVAL = 256


class PlacedBatch(NamedTuple):
    """A batch at a position of a file."""

    batch: PlannedBatch
    encoded: EncodedBatch
    file: str
    position: int


class LaidOut(NamedTuple):
    """The files of a partition's directory, and the place of each batch."""

    files: dict[str, bytes]
    places: list[PlacedBatch]


class _Producer(NamedTuple):
    """The state of a producer, as a snapshot has it."""

    epoch: int = -1
    sequence: int = -1
    last_offset: int = -1
    delta: int = 0
    timestamp: int = -1
    coordinator_epoch: int = -1
    first_offset: int = -1


def lay_out(plan: list[PlannedBatch], segments: list[PlannedSegment]) -> LaidOut:
    """Return the files of these segments; producers and epochs are those of the whole plan."""
    out = LaidOut({}, [])
    for segment in segments:
        _add_segment(out, plan, segment)
        if segment.base_offset:
            _add_snapshot(out.files, plan, segment.base_offset)
    end = plan[-1].last_offset + 1
    _add_snapshot(out.files, plan, end)
    first = segments[0].base_offset
    epochs = _epochs(plan, first)
    lines = "".join(f"{epoch} {start}\n" for epoch, start in epochs)
    out.files["leader-epoch-checkpoint"] = f"0\n{len(epochs)}\n{lines}".encode()
    out.files["partition.metadata"] = b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAFw"
    return out


def _add_segment(out: LaidOut, plan: list[PlannedBatch], segment: PlannedSegment) -> None:
    base, name = segment.base_offset, f"{segment.base_offset:020}"
    log, entries, times, aborted = bytearray(), bytearray(), bytearray(), bytearray()
    latest, since = (-1, base), 0
    for batch in segment.batches:
        encoded = batch.encoded()
        if batch.times[1] > latest[0]:
            latest = (batch.times[1], batch.last_offset)
        if since > INTERVAL:
            entries += struct.pack(">ii", batch.last_offset - base, len(log))
            times += _time_entry(times, latest, base)
            since = 0
        since += len(encoded.data)
        out.places.append(PlacedBatch(batch, encoded, f"{name}.log", len(log)))
        log += encoded.data
        if batch.kind == "abort":
            aborted += _aborted(plan, batch)
    times += _time_entry(times, latest, base)
    for extension, data in (("log", log), ("index", entries), ("timeindex", times)):
        out.files[f"{name}.{extension}"] = bytes(data)
    if aborted:
        out.files[f"{name}.txnindex"] = bytes(aborted)


def _time_entry(times: bytearray, latest: tuple[int, int], base: int) -> bytes:
    """Return the entry of the latest time, none if it is not later than that of the last entry."""
    before = struct.unpack_from(">q", times, len(times) - 12)[0] if times else -1
    return struct.pack(">qi", latest[0], latest[1] - base) if latest[0] > before else b""


def _aborted(plan: list[PlannedBatch], marker: PlannedBatch) -> bytes:
    """Return the index entry of an aborted transaction."""
    last = marker.last_offset
    others = (
        each.base_offset
        for each in plan
        if each.is_transactional
        and each.kind == "data"
        and each.base_offset < last
        and each.producer_id != marker.producer_id
        and _is_open_at(plan, each, last)
    )
    stable = min(others, default=last + 1)
    first = marker.ends[0].base_offset
    return struct.pack(">hqqqq", 0, marker.producer_id, first, last, stable)


def _is_open_at(plan: list[PlannedBatch], batch: PlannedBatch, offset: int) -> bool:
    """Return whether the transaction of a batch has no marker below an offset."""
    return not any(
        batch in each.ends and each.base_offset < offset for each in plan if each.kind != "data"
    )


def _add_snapshot(files: dict[str, bytes], plan: list[PlannedBatch], offset: int) -> None:
    entries = b""
    for producer_id, state in _producers_at(plan, offset).items():
        entries += struct.pack(">qhiqiqiq", producer_id, *state)
    counted = struct.pack(">i", len(_producers_at(plan, offset))) + entries
    files[f"{offset:020}.snapshot"] = struct.pack(">hI", 1, google_crc32c.value(counted)) + counted


def _producers_at(plan: list[PlannedBatch], offset: int) -> dict[int, _Producer]:
    """Return the producers of the batches below an offset."""
    found: dict[int, _Producer] = {}
    for batch in plan:
        if batch.producer_id < 0 or batch.base_offset >= offset:
            continue
        before = found.get(batch.producer_id, _Producer())
        after = before._replace(epoch=batch.producer[1], timestamp=batch.times[1])
        if batch.kind != "data":
            after = after._replace(coordinator_epoch=0, first_offset=-1)
        else:
            delta = batch.last_offset - batch.base_offset
            after = after._replace(
                sequence=batch.producer[2] + delta, last_offset=batch.last_offset, delta=delta
            )
            if batch.is_transactional and before.first_offset < 0:
                after = after._replace(first_offset=batch.base_offset)
        found[batch.producer_id] = after
    return found


def _epochs(plan: list[PlannedBatch], first: int) -> list[tuple[int, int]]:
    """Return each leader epoch and its start offset, as a log has them that begins at `first`."""
    found: dict[int, int] = {}
    for batch in plan:
        if batch.leader_epoch >= 0:
            found.setdefault(batch.leader_epoch, batch.base_offset)
    kept = sorted(found.items())
    while len(kept) > 1 and kept[1][1] <= first:
        del kept[0]
    return [(epoch, max(start, first)) for epoch, start in kept]
