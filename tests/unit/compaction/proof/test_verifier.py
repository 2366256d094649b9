"""A verification from its beginning to its end."""

from dataclasses import replace
from weakref import ref

import pytest

from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.proof.key_checks import ENTRY_BYTES, KeyScope, PlainKeyCheck
from cordwood.compaction.proof.record_checks import PlainRecordVerifier
from cordwood.compaction.proof.verifier import verify, verify_alone
from cordwood.compaction.proof.violations import Violations
from cordwood.records.decoder import Decoder, ReadRequest
from cordwood.records.kernels.kernel_decoder import KernelDecoder
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.storage.files.file_names import LOG
from cordwood.storage.segment.transaction_index import AbortedTxn
from tests.unit.compaction.both_sides import ALL_KEYS, BothSides, without
from tests.unit.compaction.compaction_samples import batch, marker, sent, with_horizon
from tests.unit.records.segments import changed, rows

WAS = [batch(0, "a1 b1 c1 d1"), batch(4, "a2 b2 e- -x")]
LEFT = [without(WAS[0], 0, 1), with_horizon(without(WAS[1], 7))]
LATER = "a record survives although a later one of its key survives, too"
LOST = "the last record of a key was removed"


def log(*left: bytes) -> BothSides:
    """Return a log of which these batches are left."""
    return BothSides({0: WAS}, {0: left or LEFT}, end=8)


def test_correct_output_has_no_violations() -> None:
    assert log().wrongs() == []


@pytest.mark.parametrize("decoder", (PlainDecoder(), KernelDecoder()), ids=("plain", "kernels"))
def test_attribute_byte_of_a_record_has_no_meaning(decoder: Decoder) -> None:
    other = changed(LEFT[0], 62, b"\x7f")

    assert log(other, LEFT[1]).wrongs() == []
    assert rows(decoder, other, ReadRequest()) == rows(decoder, LEFT[0], ReadRequest())


def test_verification_computes_the_certificate() -> None:
    seen = log().verified().seen
    assert seen is not None

    cleaning = log().cleaning()._replace(certificate=seen)

    assert log().verified(cleaning=cleaning).violations == ()
    assert (seen.keys, seen.counts.superseded, seen.counts.unkeyed) == (5, 2, 1)


def test_wrong_certificate_is_a_violation() -> None:
    seen = log().verified().seen
    assert seen is not None

    cleaning = log().cleaning()._replace(certificate=replace(seen, keys=6))

    (violation,) = log().verified(cleaning=cleaning).violations
    assert violation.what == "the certificate's keys was seen otherwise"


def test_verify_notices_a_batch_that_was_not_there_at_the_end() -> None:
    longer = BothSides({0: WAS}, {0: [*LEFT, batch(8, "z1")]}, end=9)

    assert "a batch without an original" in longer.wrongs()


def test_verification_stops_when_output_offsets_decrease() -> None:
    assert "offsets go back" in log(*reversed(LEFT)).wrongs()


def test_verify_names_the_segment_that_began_with_a_lost_record() -> None:
    before = {0: [batch(0, "a1")], 1: [batch(1, "b1"), batch(2, "c1")]}
    after = {0: [batch(0, "a1"), batch(2, "c1")]}

    (violation,) = BothSides(before, after, end=3).verified().violations

    assert (violation.what, violation.file) == (LOST, f"{1:020}.log")


def test_verify_names_the_segment_of_a_lost_record() -> None:
    (violation,) = log(without(WAS[0], 0, 1, 3), LEFT[1]).verified().violations

    assert (violation.what, violation.offset) == (LOST, 3)
    assert violation.file == "00000000000000000000.log"


@pytest.mark.parametrize("keys", (1, 2, 3))
def test_all_keys_are_verified_with_any_memory(keys: int) -> None:
    memory_bytes = keys * (ENTRY_BYTES + 1)

    assert log().wrongs(memory_bytes=memory_bytes) == []
    assert log(without(WAS[0], 0), LEFT[1]).wrongs(memory_bytes=memory_bytes) == [LATER]
    assert log().verified(memory_bytes=memory_bytes).seen == log().verified().seen


class Noted(PlainRecordVerifier):
    """An object whose lifetime a test can observe."""


def test_keys_of_one_walk_are_released_before_the_next_walk() -> None:
    made: list[ref[Noted]] = []
    there: list[int] = []

    def judges(plan: CleaningPlan, scope: KeyScope, violations: Violations, size: int) -> Noted:
        there.append(sum(each() is not None for each in made))
        keys = PlainKeyCheck(scope, first_dirty=plan.first_dirty, erased=(), memory_bytes=size)
        judge = Noted(keys, violations)
        made.append(ref(judge))
        return judge

    verify(
        log().reading,
        log().cleaning(),
        plan=log().plan,
        scope=ALL_KEYS,
        memory_bytes=ENTRY_BYTES + 1,
        judges=judges,
    )

    assert len(there) > 5
    assert not any(there)


def test_sample_verifies_one_class_of_keys() -> None:
    wrong = log(without(WAS[0], 0, 1, 3), LEFT[1])

    found = [wrong.wrongs(scope=KeyScope(1, 16, chosen, is_sample=True)) for chosen in range(16)]

    assert sorted(found) == [[]] * 15 + [[LOST]]


def test_sample_verifies_everything_except_other_keys() -> None:
    wrong = log(LEFT[0], batch(4, "a2 b3 e-"))

    assert all(wrong.wrongs(scope=KeyScope(1, 16, chosen, is_sample=True)) for chosen in range(16))


def test_pass_with_erased_keys_is_verified_with_all_keys() -> None:
    left = [without(WAS[0], 0, 1, 2), LEFT[1]]

    found = (
        log(*left)
        .planned(erased_keys=frozenset({b"c"}))
        .verified(scope=KeyScope(1, 16, 3, is_sample=True))
    )

    assert found.how == "all keys"
    assert found.seen is not None


def test_an_erased_key_may_not_be_left() -> None:
    erasing = log().planned(erased_keys=frozenset({b"c"}))

    assert erasing.wrongs() == ["a record of an erased key survives"]


def test_transaction_index_is_verified_against_the_markers() -> None:
    before = [sent(0, "a1"), marker(1, is_commit=False), batch(2, "b1")]
    entry = AbortedTxn(1, 0, 1, 2)
    right = BothSides({0: before}, {0: before[1:]}, end=3, aborted=[entry])
    wrong = BothSides({0: before}, {0: before[1:]}, end=3)
    wrong.write(0, before, aborted=[entry])

    assert right.wrongs() == []
    assert wrong.wrongs() == ["an aborted transaction is not in the transaction index as it was"]


def test_verify_notices_a_transaction_without_data_in_the_index() -> None:
    idle, entry = marker(1, is_commit=False), AbortedTxn(1, 0, 1, 2)
    batches = [with_horizon(idle), batch(2, "b1")]

    found = BothSides({0: [idle, batches[1]]}, {0: batches}, end=3, aborted=[entry]).wrongs()

    assert found == ["an aborted transaction without data is in the transaction index"]


def test_log_is_verified_alone() -> None:
    assert BothSides({0: [batch(0, "a1"), batch(1, "a2")]}, {}, end=2).verified_alone() == [LATER]


def test_transaction_index_is_not_checked_when_a_log_is_verified_alone() -> None:
    batches = [with_horizon(marker(1, is_commit=False)), batch(2, "b1")]
    cleaned = BothSides({0: batches}, {}, end=3, aborted=[AbortedTxn(1, 0, 1, 2)])

    assert cleaned.verified_alone() == []


def test_damage_before_the_pass_is_a_violation() -> None:
    damaged = log()
    damaged.put(0, LOG, b"".join(WAS)[:-1] + b"\1", suffix="")

    (violation,) = damaged.verified().violations

    assert violation.what.startswith("a batch was damaged: the checksum is wrong")


def test_verification_stops_when_the_files_are_wrong() -> None:
    cleaning = log().cleaning()

    found = log().verified(cleaning=cleaning._replace(end=5))

    assert found.total == 1
    assert found.seen is None


def test_verification_of_a_log_alone_reports_its_scope() -> None:
    left = BothSides({0: LEFT}, {}, end=8)

    found = verify_alone(
        left.reading,
        replace(left.plan),
        scope=KeyScope(1, 16, 3, is_sample=True),
        memory_bytes=1 << 20,
    )

    assert (found.violations, found.how) == ((), "a sample of the keys, seed 1")
