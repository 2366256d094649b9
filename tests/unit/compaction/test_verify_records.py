"""Records of a batch as they were and as they are left, and what is counted of them."""

from cordwood.compaction.verify_batches import Left
from cordwood.compaction.verify_keys import Scope
from cordwood.compaction.verify_reading import Found, SegmentFile
from cordwood.compaction.verify_records import Judged, PlainJudge, Ruling, body_of, plain_judge
from cordwood.compaction.violations import Violations
from cordwood.records.header import read_header
from cordwood.records.record import Record, TimestampType
from tests.unit.compaction.both_sides import ALL_KEYS, without
from tests.unit.compaction.compaction_samples import NOW, batch, plan

NO_RULING = Ruling()
WAS = batch(0, "a1 b1 a2 -x c-")


def found(data: bytes) -> Found:
    header = read_header(data)
    assert header is not None
    return Found(header, memoryview(data), at=0, file=SegmentFile(0, "", len(data), 0, 0))


def judged(
    before: bytes, after: bytes | None, ruling: Ruling = NO_RULING, *, scope: Scope = ALL_KEYS
) -> tuple[PlainJudge, Judged]:
    """Return a judge that has seen one batch, and what it says of it."""
    judge = plain_judge(plan(), scope, Violations(), 1 << 20)
    if after is not None:
        judge.learn(found(after))
    return judge, judge.judge(found(before), None if after is None else found(after), ruling=ruling)


def wrongs(
    before: bytes, after: bytes | None, ruling: Ruling = NO_RULING, *, scope: Scope = ALL_KEYS
) -> list[str]:
    judge, _ = judged(before, after, ruling, scope=scope)
    return [f"{each.offset}: {each.what}" for each in judge.violations.kept]


def test_judge_counts_what_is_left_and_what_is_gone() -> None:
    judge, said = judged(WAS, without(WAS, 0, 3))

    assert said == Judged(5, Left(3, 1, 4, NOW + 4), has_tombstone=True)
    counts = judge.counts
    assert (counts.read, counts.left, counts.tombstones_left) == (5, 3, 1)
    assert (counts.unkeyed, counts.keyed_gone, counts.aborted) == (1, 1, 0)
    assert (judge.keys.superseded, judge.violations.count) == (1, 0)


def test_judge_says_that_nothing_is_left() -> None:
    _, said = judged(WAS, None)

    assert said == Judged(5, Left(), has_tombstone=False)


def test_judge_lets_no_record_without_a_key_stay() -> None:
    assert wrongs(WAS, without(WAS, 0)) == ["3: a record without a key is left"]


def test_judge_lets_no_aborted_record_stay() -> None:
    judge, _ = judged(WAS, None, Ruling(is_aborted=True))

    assert judge.counts.aborted == 5
    assert wrongs(WAS, without(WAS, 0, 1, 2, 3), Ruling(is_aborted=True)) == [
        "4: a record of an aborted transaction is left"
    ]


def test_judge_lets_no_tombstone_stay_after_its_time() -> None:
    assert wrongs(WAS, without(WAS, 0, 3), Ruling(is_expired=True)) == [
        "4: a tombstone is left after its time"
    ]


def test_judge_lets_a_tombstone_go_in_time() -> None:
    judge, _ = judged(WAS, without(WAS, 0, 3, 4), Ruling(is_expired=True))

    assert (judge.keys.tombstones, list(judge.keys.lost())) == (1, [])


def test_judge_notices_a_record_that_was_not_there() -> None:
    assert wrongs(without(WAS, 0, 1, 3, 4), without(WAS, 0, 3)) == [
        "1: a record that was not there",
        "4: a record that was not there",
    ]


def test_judge_notices_a_record_that_says_something_else() -> None:
    assert wrongs(batch(0, "a1 b1"), batch(0, "a1 b2")) == ["1: the value of a record has changed"]


def test_judge_looks_at_keys_of_the_scope_alone() -> None:
    halves = Scope(seed=1).halves()

    assert sorted(wrongs(WAS, without(WAS, 3), scope=half) for half in halves) == [
        [],
        ["0: a record is left although a later one of its key is left, too"],
    ]
    (one, _), (other, _) = (judged(WAS, without(WAS, 0, 3), scope=half) for half in halves)
    assert {one.keys.superseded, other.keys.superseded} == {0, 1}
    assert one.counts == other.counts


def test_body_of_a_record_begins_with_the_length_of_its_key() -> None:
    record = Record(7, 9, TimestampType.CREATE_TIME, b"key", None, (("h", b"x"),))

    assert body_of(record) == b"\x06key\x01\x02\x02h\x02x"
