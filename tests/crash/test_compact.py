"""A crash at any write of `cordwood compact` leaves a directory that opens right, and that it can
compact again: of each key the last record, whatever else is left, and nothing that was not there.
"""

from collections.abc import Iterator
from random import Random

from cordwood.testing.faults import PowerLoss
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.compact import compact
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.workbench.compact_samples import Shelf, order

SEGMENTS = ("a1 b1 c1", "a2 b2", "c2 d1", "a3 d-", "e1")
SAMPLES = 4
LAST = ["4:b2", "5:c2", "7:a3", "8:d-", "9:e1"]


def stopped_after(writes: int) -> tuple[Shelf, bool]:
    """Compact until the power goes out; return whether that came before the end."""
    shelf = Shelf(*SEGMENTS)
    shelf.write("cleaner-offset-checkpoint", "0\n0\n")
    files = shelf.place.files
    files.sync_directory("/d")
    files.script.stop_after(writes)
    try:
        compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())
    except PowerLoss:
        return shelf, True
    finally:
        files.script.reset()
    return shelf, False


def crashes(files: MemoryFiles, chance: Random) -> Iterator[MemoryFiles]:
    """Yield what may be left: some of what was not on the medium, in any order."""
    count = len(files.pending())
    for size in range(0, count + 1, 2):
        yield files.after_crash(tuple(range(size)))
    for _ in range(SAMPLES):
        yield files.after_crash([index for index in range(count) if chance.random() < 0.5])


def test_directory_opens_right_after_a_crash_at_any_write() -> None:
    chance, all_records = Random(1), Shelf(*SEGMENTS).records()
    writes, tried, is_over = 0, 0, False

    while not is_over:
        shelf, was_stopped = stopped_after(writes)
        is_over, writes = not was_stopped, writes + 1
        for left in crashes(shelf.place.files, chance):
            found = shelf.moved_to(left).records()
            tried += 1
            assert set(LAST) <= set(found) <= set(all_records), writes
            assert found == sorted(found, key=lambda text: int(text.partition(":")[0]))

    assert writes > 30
    assert tried > 5 * writes


def test_compacting_again_ends_what_a_crash_has_left() -> None:
    writes, is_over = 0, False

    while not is_over:
        shelf, was_stopped = stopped_after(writes)
        is_over, writes = not was_stopped, writes + 1
        again = shelf.moved_to(shelf.place.files.after_crash())

        compact(again.tools, DIRECTORY, found=again.settings(), order=order())

        assert again.records() == LAST
