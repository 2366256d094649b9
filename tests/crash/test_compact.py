"""A crash at any write of `cordwood compact` leaves a directory that opens and can be compacted.

It holds the last record of each key, possibly more, and no record that was not there.
"""

from collections.abc import Iterator
from random import Random

from cordwood.testing.file_faults import PowerLoss
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.workbench.compact_samples import CompactedPartition, order

SEGMENTS = ("a1 b1 c1", "a2 b2", "c2 d1", "a3 d-", "e1")
SAMPLES = 4
LAST = ["4:b2", "5:c2", "7:a3", "8:d-", "9:e1"]


def stopped_after(writes: int) -> tuple[CompactedPartition, bool]:
    """Compact until the power goes out; return whether that came before the end."""
    partition = CompactedPartition(*SEGMENTS)
    partition.write("cleaner-offset-checkpoint", "0\n0\n")
    files = partition.place.files
    files.sync_directory("/d")
    files.script.stop_after(writes)
    try:
        partition.compact(order())
    except PowerLoss:
        return partition, True
    finally:
        files.script.reset()
    return partition, False


def crashes(files: MemoryFiles, chance: Random) -> Iterator[MemoryFiles]:
    """Yield what may be left: some of what was not on the medium, in any order."""
    count = len(files.pending())
    for size in range(0, count + 1, 2):
        yield files.after_crash(tuple(range(size)))
    for _ in range(SAMPLES):
        yield files.after_crash([index for index in range(count) if chance.random() < 0.5])


def test_directory_can_be_opened_after_a_crash_at_any_write() -> None:
    chance, all_records = Random(1), CompactedPartition(*SEGMENTS).records()
    writes, tried, is_over = 0, 0, False

    while not is_over:
        partition, was_stopped = stopped_after(writes)
        is_over, writes = not was_stopped, writes + 1
        for left in crashes(partition.place.files, chance):
            found = partition.moved_to(left).records()
            tried += 1
            assert set(LAST) <= set(found) <= set(all_records), writes
            assert found == sorted(found, key=lambda text: int(text.partition(":")[0]))

    assert writes > 30
    assert tried > 5 * writes


def test_repeated_compaction_finishes_one_interrupted_by_a_crash() -> None:
    writes, is_over = 0, False

    while not is_over:
        partition, was_stopped = stopped_after(writes)
        is_over, writes = not was_stopped, writes + 1
        again = partition.moved_to(partition.place.files.after_crash())

        again.compact(order())

        assert again.records() == LAST
