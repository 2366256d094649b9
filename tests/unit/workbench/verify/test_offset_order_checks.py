"""Order of offsets and epochs: decreasing ones, missing ones, and the reason."""

import pytest

from cordwood.records.batch_builder import BatchFields, empty_batch
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.storage.producers.producer_snapshot import encode_snapshot
from cordwood.storage.producers.producer_state_entry import BatchMetadata, ProducerStateEntry
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verify.findings import Severity
from cordwood.workbench.verify.offset_order_checks import OffsetOrderCheck
from cordwood.workbench.verify.verify import verify
from tests.unit.storage.log_samples import batch
from tests.unit.storage.reader_samples import directory, put
from tests.unit.storage.segment_samples import v2
from tests.unit.workbench.verified import damages, healthy, notes, verified

EPOCHS = "leader-epoch-checkpoint"


def keyed(at: int, count: int = 1, *, epoch: int = -1) -> bytes:
    return bytes(batch(count, at=at, epoch=epoch))


def with_epochs(text: str, log: bytes) -> MemoryFiles:
    files = directory(log=log)
    put(files, EPOCHS, text.encode())
    return files


def test_decreasing_offsets_are_reported_once() -> None:
    found = verified(directory(log=v2(0, 3) + v2(2, 5) + v2(6)))

    assert [(each.cause, each.first_offset, each.expected) for each in found.findings] == [
        ("offsets decrease", 2, "at least 4")
    ]


def test_decreasing_offset_causes_no_gap_after_it() -> None:
    found = verified(directory(log=v2(0, 3) + v2(0, 1) + v2(4)))

    assert [each.cause for each in found.findings] == ["offsets decrease"]


def test_segments_that_overlap_are_damage() -> None:
    found = damages(directory(log=v2(0, 9), log_5=v2(5, 6)))

    assert found == [("5.log", "the segment begins before the end of the one before it")]


def test_gap_behind_records_without_key_is_loss() -> None:
    (found,) = verified(directory(log=v2(0, 3), log_9=v2(9))).findings

    assert (found.first_offset, found.end_offset) == (4, 9)
    assert "not removed by a cleaner" in found.cause


def test_gap_in_which_another_file_of_a_segment_is_left_is_loss() -> None:
    files = directory(log=keyed(0), timeindex_3=b"", log_9=keyed(9))

    assert damages(files) == [("9.log", "missing offsets that were not removed by a cleaner")]


def test_unexplained_gap_is_a_note() -> None:
    files = directory(log=keyed(0) + keyed(5))

    assert (damages(files), len(notes(files))) == ([], 1)


@pytest.mark.parametrize(
    ("policy", "damaged", "noted"),
    (
        (
            "delete",
            ["missing offsets in a topic that is not compacted (cleanup.policy: --config)"],
            [],
        ),
        ("compact", [], ["4 offsets in 1 gap, removed by a cleaner"]),
        ("compact,delete", [], ["4 offsets in 1 gap, removed by a cleaner"]),
    ),
)
def test_gap_is_classified_by_the_cleanup_policy(
    policy: str, damaged: list[str], noted: list[str]
) -> None:
    files = directory(log=keyed(0), log_5=keyed(5))
    finder = SettingsFinder(files, given={"cleanup.policy": policy})

    found = verify(files, ["/d/t-0"], settings=finder)

    assert [each.cause for each in found.damages] == damaged
    assert [each.cause for each in found.all_findings if each not in found.damages] == noted


def test_lost_offsets_are_reported_with_a_remedy() -> None:
    files = directory(log=keyed(0) + keyed(5))
    finder = SettingsFinder(files, given={"cleanup.policy": "delete"})

    (found,) = verify(files, ["/d/t-0"], settings=finder).damages

    assert (found.first_offset, found.end_offset, found.position) == (1, 5, len(keyed(0)))
    assert "replica" in found.remedy


def test_gap_below_the_cleaner_checkpoint_is_no_loss_under_any_current_policy() -> None:
    files = directory(log=keyed(0) + keyed(5))
    files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 6\n")
    finder = SettingsFinder(files, given={"cleanup.policy": "delete"})

    assert not verify(files, ["/d"], settings=finder).is_damaged


def test_gap_behind_records_without_key_is_loss_in_a_compacted_log_too() -> None:
    files = directory(log=v2(0, 3), log_9=v2(9))
    finder = SettingsFinder(files, given={"cleanup.policy": "compact"})

    assert verify(files, ["/d"], settings=finder).is_damaged


def test_gap_below_a_batch_that_has_lost_records_is_a_cleaners() -> None:
    lost = bytes(empty_batch(BatchFields(base_offset=7), last_offset=9, max_timestamp=1000))

    (found,) = verified(directory(log=v2(0) + v2(5) + lost + v2(10))).findings

    assert found.severity is Severity.NOTE
    assert found.cause == "5 offsets in 2 gaps, removed by a cleaner"


def test_gap_below_the_log_start_does_not_matter() -> None:
    files = directory(log=v2(0) + v2(5))
    files.create("/d/log-start-offset-checkpoint").append(b"0\n1\nt 0 5\n")

    assert verified(files).findings == ()
    assert verified(files).log_start == 5


def test_gap_below_the_cleaner_checkpoint_is_a_cleaners() -> None:
    files = directory(log=v2(0) + v2(5))
    files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 6\n")

    assert notes(files) == [(".log", "4 offsets in 1 gap, removed by a cleaner")]


def test_gap_above_the_cleaner_checkpoint_of_a_compacted_topic_is_told_apart() -> None:
    files = directory(log=keyed(0) + keyed(5), log_9=keyed(9))
    files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 5\n")
    finder = SettingsFinder(files, given={"cleanup.policy": "compact"})

    below, above = verify(files, ["/d/t-0"], settings=finder).all_findings

    assert below.cause == "4 offsets in 1 gap, removed by a cleaner"
    assert "above the cleaner's checkpoint 5" in above.cause
    assert (above.severity, above.first_offset, above.end_offset) == (Severity.NOTE, 6, 9)


def test_last_batch_of_a_producer_in_a_gap_above_the_checkpoint_is_named() -> None:
    files = directory(log=keyed(0), log_9=keyed(9))
    files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 1\n")
    state = ProducerStateEntry(7, 0, (BatchMetadata(3, 4, 2, 0),))
    put(files, f"{9:020}.snapshot", encode_snapshot([state]))
    finder = SettingsFinder(files, given={"cleanup.policy": "compact"})

    (found,) = verify(files, ["/d/t-0"], settings=finder).all_findings

    assert found.cause.endswith("the last batch of producer 7 is missing")


def test_cleaner_checkpoint_beyond_the_end_explains_no_gap() -> None:
    files = directory(log=keyed(0) + keyed(5))
    files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 99\n")
    finder = SettingsFinder(files, given={"cleanup.policy": "delete"})

    gap, beyond = verify(files, ["/d/t-0"], settings=finder).damages

    assert gap.cause.startswith("missing offsets in a topic that is not compacted")
    assert (beyond.expected, beyond.found) == ("at most 6", 99)


def test_decreasing_epoch_is_damage() -> None:
    files = directory(log=keyed(0, epoch=3) + keyed(1, epoch=2))

    assert damages(files) == [(".log", "leader epochs decrease")]


def test_decreasing_epoch_that_is_in_the_checkpoint_is_a_note() -> None:
    files = with_epochs("0\n1\n2 1\n", keyed(0, epoch=3) + keyed(1, epoch=2))

    assert [cause for _, cause in damages(files)] == ["a leader epoch is above those that follow"]


def test_epoch_above_the_following_ones_is_damage() -> None:
    log = keyed(0, epoch=0) + keyed(1, epoch=4) + keyed(2, epoch=0)

    (found,) = verified(with_epochs("0\n1\n0 0\n", log)).findings

    assert (found.position, found.found) == (len(keyed(0)), 4)


def test_log_with_an_earlier_epoch_of_the_checkpoint_is_a_note() -> None:
    files = with_epochs("0\n2\n1 1\n5 2\n", keyed(0, epoch=3) + keyed(1, epoch=1))

    assert notes(files) == [(".log", "leader epochs decrease")]


def test_checkpoint_with_another_epoch_is_damage() -> None:
    files = with_epochs("0\n2\n0 0\n5 4\n", keyed(0, 2, epoch=0) + keyed(2, 3, epoch=5))

    (found,) = verified(files).findings

    assert found.path.endswith(EPOCHS)
    assert (found.expected, found.found) == ("epoch 5 at offset 2", 0)


def test_epoch_that_begins_too_early_is_damage() -> None:
    files = with_epochs("0\n2\n2 0\n4 1\n", keyed(0, 2, epoch=2) + keyed(2, 3, epoch=2))

    (found,) = verified(files).findings

    assert (found.cause, found.expected) == ("an epoch differs from the log", "epoch 2 at offset 2")


def test_first_epoch_that_begins_too_late_is_a_note() -> None:
    files = with_epochs("0\n1\n2 2\n", keyed(0, 2, epoch=2) + keyed(2, 3, epoch=2))

    (found,) = verified(files).findings

    assert (found.severity, found.first_offset, found.end_offset) == (Severity.NOTE, 0, 2)
    files.create("/d/log-start-offset-checkpoint").append(b"0\n1\nt 0 2\n")
    assert verified(files).findings == ()


def test_negative_epoch_is_damage() -> None:
    files = directory(log=keyed(0, epoch=2) + keyed(1, epoch=-(1 << 31) + 2) + keyed(2, epoch=2))

    assert damages(files) == [(".log", "a negative leader epoch")]


def test_checkpoint_that_does_not_increase_is_damage() -> None:
    files = with_epochs("0\n2\n4 0\n3 2\n", keyed(0, epoch=0))

    assert damages(files) == [(EPOCHS, "epochs do not ascend")]


def test_first_epochs_may_be_missing() -> None:
    assert damages(with_epochs("0\n1\n5 3\n", keyed(0, 3, epoch=2) + keyed(3, epoch=5))) == []


def test_checkpoint_that_lacks_the_latest_epoch_is_damage() -> None:
    files = with_epochs("0\n1\n2 0\n", keyed(0, 3, epoch=2) + keyed(3, epoch=5))

    (found,) = verified(files).findings

    assert (found.cause, found.first_offset) == ("an epoch of the log is missing", 3)
    assert (found.expected, found.found) == ("epoch 5 at offset 3", "epoch 2 as the latest")


@pytest.mark.parametrize(("has_file", "found"), ((True, ["no epochs"]), (False, [])))
def test_epochs_are_missing_from_a_file_without_entries(
    *, has_file: bool, found: list[str]
) -> None:
    order = OffsetOrderCheck(epochs_path=EPOCHS, has_file=has_file)

    order.add(PlainBatchChecker().check(keyed(0, epoch=0)), 0, path="0.log")

    assert [each.found for each in order.classify(log_start=0, cleaned_to=0)] == found


def test_lost_segment_of_a_healthy_log_is_reported() -> None:
    files = healthy()
    for each in files.list("/d/t-0"):
        if each.startswith(f"{36:020}"):
            files.remove(f"/d/t-0/{each}")

    (found,) = (
        each for each in verified(files).findings if "missing" in each.cause or "lost" in each.cause
    )

    assert (found.first_offset, found.end_offset) == (36, 59)


@pytest.mark.parametrize(
    ("text", "is_inside"),
    (("0\n2\n2 0\n4 3\n", True), ("0\n2\n2 0\n4 6\n", False), ("0\n1\n2 1\n", False)),
    ids=("inside", "at the end", "log start inside a batch"),
)
def test_epoch_does_not_begin_inside_a_batch(text: str, *, is_inside: bool) -> None:
    files = with_epochs(text, keyed(0, 2, epoch=2) + keyed(2, 4, epoch=2))

    causes = [each.cause for each in verified(files).findings]

    assert ("an epoch begins inside a batch" in causes) == is_inside
