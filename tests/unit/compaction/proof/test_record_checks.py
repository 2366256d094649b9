"""Comparison of the original records of a batch with the surviving ones, and their counts."""

from cordwood.compaction.key_hash import record_hash, stream_with
from cordwood.compaction.proof.batch_checks import SurvivingRecords
from cordwood.compaction.proof.batch_reader import LocatedBatch, SegmentFile
from cordwood.compaction.proof.key_checks import KeyScope
from cordwood.compaction.proof.record_checks import (
    BatchVerdict,
    PlainRecordVerifier,
    RecordTally,
    body_of,
    plain_record_verifier,
)
from cordwood.compaction.proof.violations import Violations
from cordwood.core.binary import crc32c
from cordwood.records.batch_builder import BatchBuilder
from cordwood.records.batch_header import read_header
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import CRC_START
from tests.unit.compaction.both_sides import ALL_KEYS, without
from tests.unit.compaction.compaction_samples import NOW, batch, plan

NO_RULING = BatchVerdict()
WAS = batch(0, "a1 b1 a2 -x c-")


def found(data: bytes) -> LocatedBatch:
    header = read_header(data)
    assert header is not None
    return LocatedBatch(header, memoryview(data), at=0, file=SegmentFile(0, "", len(data), 0, 0))


def judged(
    before: bytes,
    after: bytes | None,
    ruling: BatchVerdict = NO_RULING,
    *,
    scope: KeyScope = ALL_KEYS,
) -> tuple[PlainRecordVerifier, RecordTally]:
    """Return a verifier that has checked one batch, and its result."""
    judge = plain_record_verifier(plan(), scope, Violations(), 1 << 20)
    if after is not None:
        judge.learn(found(after))
    return judge, judge.judge(found(before), None if after is None else found(after), ruling=ruling)


def wrongs(
    before: bytes,
    after: bytes | None,
    ruling: BatchVerdict = NO_RULING,
    *,
    scope: KeyScope = ALL_KEYS,
) -> list[str]:
    judge, _ = judged(before, after, ruling, scope=scope)
    return [f"{each.offset}: {each.what}" for each in judge.violations.kept]


def test_verifier_counts_surviving_and_removed_records() -> None:
    judge, said = judged(WAS, without(WAS, 0, 3))

    assert said == RecordTally(5, SurvivingRecords(3, 1, 4, NOW + 4), has_tombstone=True)
    counts = judge.counts
    assert (counts.read, counts.left, counts.tombstones_left) == (5, 3, 1)
    assert (counts.unkeyed, counts.keyed_gone, counts.aborted) == (1, 1, 0)
    assert (judge.keys.superseded, judge.violations.count) == (1, 0)


def test_verifier_reports_a_batch_without_surviving_records() -> None:
    _, said = judged(WAS, None)

    assert said == RecordTally(5, SurvivingRecords(), has_tombstone=False)


def test_surviving_record_without_a_key_is_a_violation() -> None:
    assert wrongs(WAS, without(WAS, 0)) == ["3: a record without a key survives"]


def test_surviving_aborted_record_is_a_violation() -> None:
    judge, _ = judged(WAS, None, BatchVerdict(is_aborted=True))

    assert judge.counts.aborted == 5
    assert wrongs(WAS, without(WAS, 0, 1, 2, 3), BatchVerdict(is_aborted=True)) == [
        "4: a record of an aborted transaction survives"
    ]


def test_surviving_tombstone_after_its_horizon_is_a_violation() -> None:
    assert wrongs(WAS, without(WAS, 0, 3), BatchVerdict(is_expired=True)) == [
        "4: a tombstone survives after its horizon"
    ]


def test_tombstone_may_be_removed_after_its_horizon() -> None:
    judge, _ = judged(WAS, without(WAS, 0, 3, 4), BatchVerdict(is_expired=True))

    assert (judge.keys.tombstones, list(judge.keys.lost())) == (1, [])


def test_record_without_an_original_is_a_violation() -> None:
    assert wrongs(without(WAS, 0, 1, 3, 4), without(WAS, 0, 3)) == [
        "1: a record without an original",
        "4: a record without an original",
    ]


def test_record_with_changed_content_is_a_violation() -> None:
    assert wrongs(batch(0, "a1 b1"), batch(0, "a1 b2")) == ["1: the value of a record has changed"]


def test_verifier_checks_only_keys_in_scope() -> None:
    halves = KeyScope(seed=1).halves()

    assert sorted(wrongs(WAS, without(WAS, 3), scope=half) for half in halves) == [
        [],
        ["0: a record survives although a later one of its key survives, too"],
    ]
    (one, _), (other, _) = (judged(WAS, without(WAS, 0, 3), scope=half) for half in halves)
    assert {one.keys.superseded, other.keys.superseded} == {0, 1}
    assert one.counts == other.counts


def test_hash_is_that_of_the_bytes_if_a_header_key_is_not_utf8() -> None:
    built = BatchBuilder()
    built.append(b"key", b"x", timestamp=9, headers=[("h", b"y")])
    data = bytearray(built.build()).replace(b"\x02h\x02y", b"\x02\xff\x02y")
    data[CRC_START - 4 : CRC_START] = crc32c(memoryview(data)[CRC_START:]).to_bytes(4)
    (judge, _) = judged(bytes(data), bytes(data))

    body = b"\x06key\x02x\x02\x02\xff\x02y"
    assert judge.counts.stream == stream_with(0, record_hash(body, offset=0, timestamp=9))


def test_body_of_a_record_begins_with_the_length_of_its_key() -> None:
    record = Record(7, 9, TimestampType.CREATE_TIME, b"key", None, (("h", b"x"),))

    assert body_of(record) == b"\x06key\x01\x02\x02h\x02x"
