"""The kernel of a scan for states: the same result as in plain Python."""

import random
import struct

import pytest

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import BadRecordsError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.records.control_records import LeaderChange, control_batch
from cordwood.records.kernels import state_scan
from cordwood.records.kernels.state_scan import KernelStateScanner
from cordwood.records.record_batch import RecordBatch
from cordwood.records.state_scan import PlainStateScanner, ScanBounds, StateScan, StateScanner
from tests.unit.compaction.compaction_samples import batch, empty, marker, old, sent, with_horizon
from tests.unit.records.segments import changed

SEEDS = range(200)
BATCHES = 40
PRODUCERS = (3, 7, INT64_MAX)
#: A plain marker of producer 7 at offset 0, with other bytes at one place.
FORMS = {
    "version of the key": (66, b"\0\1"),
    "version of the value": (71, b"\0\1"),
    "negative version of the value": (71, b"\xff\xff"),
    "unknown type": (68, b"\0\x09"),
    "negative type": (68, b"\xff\xfe"),
    "negative coordinator epoch": (73, b"\xff\xff\xff\xfe"),
    "epoch": (51, b"\x7f\xff"),
    "negative epoch": (51, b"\xff\xff"),
    "negative producer": (43, b"\xff" * 8),
    "attributes of the record": (62, b"\1"),
    "codec": (22, b"\x31"),
    "size of the key": (65, b"\x0a"),
    "size of the value": (70, b"\x0a"),
    "headers": (77, b"\2"),
    "delete horizon": (21, b"\0\x70"),
}


def log_of(chance: random.Random) -> list[bytes]:
    """Return batches of every kind, with rising offsets."""
    found, offset = list[bytes](), 0
    for _ in range(BATCHES):
        producer, is_commit = chance.choice(PRODUCERS), chance.random() < 0.5
        end = marker(offset, producer=producer, is_commit=is_commit, epoch=chance.randrange(9))
        sample = sent(offset, "a1 b1", producer=producer, is_transactional=chance.random() < 0.7)
        kind = chance.choice(
            (end, end, sample, sample, sample, batch(offset, "a1 b2"), old(offset, "a1"))
        )
        if kind is not end and chance.random() < 0.1:
            kind = old(offset, "a1 b1", codec=Codec.GZIP)
        if kind is end and chance.random() < 0.2:
            kind = with_horizon(end)
        if kind in (end, sample) and chance.random() < 0.1:
            kind = empty(kind)
        if chance.random() < 0.05:
            fields = BatchFields(base_offset=offset, producer_id=producer, producer_epoch=0)
            kind = bytes(control_batch(LeaderChange(1, (), ()), fields, timestamp=0))
        found.append(kind)
        offset += 2 + chance.choice((0, 0, 5))
    return found


def result(found: StateScan, chance: random.Random, data: bytes) -> tuple[object, ...]:
    """Return a scan as values; the flags of a part of the records, in several steps."""
    rows = (
        record.offset
        for each in batches(data)
        if not (isinstance(each, RecordBatch) and each.is_control)
        for record in each.records()
    )
    offsets, flags = [each for each in rows if chance.random() < 0.8], list[bytes]()
    while offsets:
        count = chance.randint(1, len(offsets))
        part, offsets = offsets[:count], offsets[count:]
        flags.append(bytes(found.flags.take(memoryview(struct.pack(f"{count}q", *part)))))
    return found.markers, found.next_offset, found.opened, found.ended, flags


def outcome(scanner: StateScanner, data: bytes, bounds: ScanBounds, seed: int) -> object:
    """Return the result of a scan, or its error."""
    try:
        found = scanner.scan(data, bounds)
    except BadRecordsError as error:
        return type(error), str(error)
    return result(found, random.Random(seed), data)


@pytest.mark.parametrize("rows", (1, 3, 4096))
def test_kernel_scans_random_runs_as_the_plain_scanner(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_scan, "ROWS", rows)
    kernel, seen = KernelStateScanner(), set[bool]()

    for seed in SEEDS:
        chance = random.Random(seed)
        parts = log_of(chance)
        log = b"".join(parts[chance.randrange(BATCHES) :])
        end = int.from_bytes(parts[-1][:8]) + 2
        numbers = (chance.randrange(end) for _ in range(3))
        bounds = ScanBounds(min(next(numbers), 20), end, chance.choice((-1, next(numbers))))
        expected = outcome(PlainStateScanner(), log, bounds, seed)
        assert outcome(kernel, log, bounds, seed) == expected, seed
        found = PlainStateScanner().scan(log, bounds)
        seen |= {bool(found.opened), bool(found.ended), bool(found.markers)}

    assert seen == {True, False}


@pytest.mark.parametrize(("at", "data"), FORMS.values(), ids=FORMS.keys())
def test_kernel_reads_each_form_of_a_marker_as_the_plain_scanner(at: int, data: bytes) -> None:
    other = changed(marker(1, producer=7, is_commit=True), at, data)
    log = (
        sent(0, "a1", producer=7)
        + other
        + sent(2, "b1", producer=7)
        + with_horizon(marker(3, producer=7, is_commit=False))
    )
    bounds = ScanBounds(0, 4, 0)

    assert outcome(KernelStateScanner(), log, bounds, 0) == outcome(
        PlainStateScanner(), log, bounds, 0
    )


def test_run_without_batches_has_no_states() -> None:
    found = KernelStateScanner().scan(b"", ScanBounds(0, 9, 0))

    assert (found.markers, found.opened, found.ended) == (b"", set(), set())
    assert bytes(found.flags.take(memoryview(bytes(16)))) == bytes(2)
    assert bytes(found.flags.take(memoryview(b""))) == b""
