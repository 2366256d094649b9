"""The kernel verifier where it differs from the plain one: buffers, windows, formats."""

from dataclasses import replace

import pytest

from cordwood.compaction.kernels.kernel_record_verifier import KernelKeys, KernelRecordVerifier
from cordwood.compaction.proof.batch_checks import SurvivingRecords
from cordwood.compaction.proof.batch_reader import LocatedBatch, SegmentFile
from cordwood.compaction.proof.key_checks import KeyScope, KeysFullError
from cordwood.compaction.proof.record_checks import BatchVerdict, RecordTally
from cordwood.compaction.proof.violations import Violations
from cordwood.core.errors import BytesError, InvalidRecordError
from cordwood.records.batch_header import read_header
from cordwood.records.compression import Codec
from tests.unit.compaction.both_sides import ALL_KEYS, changed, without
from tests.unit.compaction.compaction_samples import NOW, batch, old, plan

WAS = batch(0, "a1 b1 a2 -x c-")
LEFT = without(WAS, 0, 3)
MEMORY = 1 << 16
NO_RULING = BatchVerdict()


def found(data: bytes) -> LocatedBatch:
    header = read_header(data)
    assert header is not None
    return LocatedBatch(header, memoryview(data), at=0, file=SegmentFile(0, "", len(data), 0, 0))


def judged(
    before: bytes, after: bytes | None, *, scope: KeyScope = ALL_KEYS, is_expired: bool = False
) -> tuple[KernelRecordVerifier, RecordTally]:
    """Return a verifier that has checked one batch, and its result."""
    judge = KernelRecordVerifier(plan(), scope, Violations(), MEMORY)
    if after is not None:
        judge.learn(found(after))
    ruling = BatchVerdict(is_expired=is_expired)
    return judge, judge.judge(found(before), found(after) if after else None, ruling=ruling)


def learn_many(keys: KernelKeys) -> None:
    for number in range(100):
        keys.learn(b"%d" % number, number)


@pytest.mark.parametrize("codec", (Codec.NONE, Codec.LZ4))
def test_verifier_counts_surviving_and_removed_records(codec: Codec) -> None:
    judge, said = judged(changed(WAS, codec=codec), changed(LEFT, codec=codec))

    assert said == RecordTally(5, SurvivingRecords(3, latest=NOW + 4), has_tombstone=True)
    counts = judge.counts
    assert (counts.read, counts.left, counts.tombstones_left) == (5, 3, 1)
    assert (counts.unkeyed, counts.keyed_gone, judge.keys.superseded) == (1, 1, 1)
    assert judge.keys.dirty_keys == 3


def test_verifier_reads_an_unchanged_compressed_batch_once() -> None:
    packed = changed(batch(0, "a1 b1"), codec=Codec.ZSTD)

    judge, said = judged(packed, packed)

    assert (said.was, said.left.records, judge.violations.count) == (2, 2, 0)


def test_verifier_describes_a_violation() -> None:
    judge, _ = judged(WAS, LEFT, is_expired=True)

    assert [each.what for each in judge.violations.kept] == [
        "a tombstone survives after its horizon"
    ]


def test_verifier_reports_lost_records() -> None:
    judge, _ = judged(WAS, None, scope=KeyScope())

    assert sorted(lost.offset for lost in judge.keys.lost()) == [1, 2, 4]


def test_verifier_checks_only_keys_in_scope() -> None:
    halves = KeyScope(1).halves()

    dirty = [judged(WAS, LEFT, scope=half)[0].keys.dirty_keys for half in halves]

    assert sum(dirty) == 3


def test_verifier_compares_old_batches_with_their_rewritten_batch() -> None:
    judge, said = judged(old(0, "a1 b1", codec=Codec.LZ4), batch(0, "a1 b1"))

    assert said == RecordTally(2, SurvivingRecords(2, 0, 1, NOW + 1), has_tombstone=False)
    assert judge.counts.read == 2


def test_verifier_rejects_an_old_batch_in_the_output() -> None:
    with pytest.raises(InvalidRecordError, match="an old format"):
        judged(WAS, old(0, "a1"))


def test_verifier_rejects_damaged_records() -> None:
    damaged = bytearray(WAS)
    damaged[61] ^= 2

    with pytest.raises((InvalidRecordError, BytesError)):
        judged(WAS, bytes(damaged))


def test_verifier_compares_batches_with_another_base_offset_on_the_plain_path() -> None:
    judge, _ = judged(WAS, batch(1, "b1"))

    assert "a record without an original" not in [each.what for each in judge.violations.kept]
    assert judge.counts.read == 5


def test_key_table_adds_slots_while_memory_is_available() -> None:
    keys = KernelKeys(plan(), ALL_KEYS, memory_bytes=MEMORY)

    for number in range(800):
        keys.learn(b"%d" % number, number)

    assert len(keys.slots) == 2048
    assert all(keys.see_left(b"%d" % number, number) is None for number in range(800))


def test_key_table_is_full_at_the_memory_limit() -> None:
    keys = KernelKeys(plan(), ALL_KEYS, memory_bytes=0)

    with pytest.raises(KeysFullError, match="fill the memory"):
        learn_many(keys)


def test_keys_that_are_erased_may_not_be_left() -> None:
    keys = KernelKeys(replace(plan(), erased_keys=frozenset({b"a"})), KeyScope(), memory_bytes=0)

    assert keys.see_left(b"a", 3) == "a record of an erased key survives"
    assert keys.see_gone(b"b", 3, is_tombstone=True, is_expired=True) is None
    assert keys.tombstones == 1
