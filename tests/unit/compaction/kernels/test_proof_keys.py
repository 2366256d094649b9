"""The table of keys: lookup by all bytes, and the state of each key."""

import numpy as np

from cordwood.compaction.kernels import proof_keys as at
from cordwood.compaction.proof.key_checks import ERASED
from cordwood.records.kernels.arena import read_only

HASH = 5


class Table:
    """Slots, an arena, and the words over both."""

    def __init__(
        self, *, most_keys: int = 7, memory_bytes: int = 1000, first_dirty: int = 0
    ) -> None:
        self.words = np.zeros(at.TABLE_WORDS, np.int64)
        self.words[at.V_MOST_KEYS], self.words[at.V_MOST_BYTES] = most_keys, memory_bytes
        self.words[at.V_FIRST_DIRTY] = first_dirty
        self.slots = np.zeros(8, np.int64)
        self.arena = np.empty(memory_bytes, np.uint8)

    def see(self, what: int, key: bytes, offset: int, *, hashed: int = HASH) -> int:
        return at.see_one(what, read_only(key), hashed, offset, self.words, self.slots, self.arena)

    @property
    def keys(self) -> int:
        return int(self.words[at.V_KEYS])

    def lost(self, room: int = 8) -> list[int]:
        found = np.zeros(room, np.int64)
        at.settle(self.words, self.arena, found)
        return [int(word) for word in found[1 : 1 + min(int(found[0]), room - 1)]]


def test_keys_with_equal_hashes_are_distinguished_by_their_bytes() -> None:
    table = Table()
    keys = (b"", b"k", b"l", b"12345678", b"12345679", b"1234567890", b"1234567891")

    for offset, key in enumerate(keys):
        table.see(at.IS_LEARNT, key, offset)

    assert table.keys == len(keys)
    assert [table.see(at.IS_LEFT, key, at_) for at_, key in enumerate(keys)] == [0] * len(keys)


def test_key_is_rejected_when_slots_or_bytes_are_full() -> None:
    few_slots, few_bytes = Table(most_keys=1), Table(memory_bytes=at.E_KEY + 8)

    for table in (few_slots, few_bytes):
        assert table.see(at.IS_LEARNT, b"k", 1) == 0
        assert table.see(at.IS_LEARNT, b"l", 1, hashed=9) == -1
        assert table.see(at.IS_LEARNT, b"k", 2) == 0


def test_surviving_record_is_a_violation_when_a_later_one_survives() -> None:
    table = Table(first_dirty=4)
    table.see(at.IS_LEARNT, b"k", 5)
    table.see(at.IS_LEARNT, b"clean", 3)
    table.see(at.IS_LEARNT, b"erased", ERASED)

    assert table.see(at.IS_LEFT, b"k", 3) == at.STAYS
    assert table.see(at.IS_LEFT, b"k", 5) == at.RIGHT
    assert table.see(at.IS_LEFT, b"clean", 2) == at.TWICE
    table.words[at.V_UNIQUE_FROM] = 3
    assert table.see(at.IS_LEFT, b"clean", 2) == at.RIGHT
    assert table.see(at.IS_LEFT, b"erased", 2) == at.STAYS_ERASED


def test_removed_record_is_superseded_when_a_later_one_survives() -> None:
    table = Table()
    table.see(at.IS_LEARNT, b"k", 5)

    assert table.see(at.IS_GONE, b"k", 3) == at.RIGHT
    assert table.see(at.IS_GONE, b"k", 7) == at.OLDER
    assert int(table.words[at.V_SUPERSEDED]) == 1


def test_clean_record_is_not_superseded_by_a_clean_record() -> None:
    table = Table(first_dirty=9)
    table.see(at.IS_LEARNT, b"k", 5)

    assert table.see(at.IS_GONE, b"k", 3) == at.LOST
    assert table.see(at.IS_GONE_EXPIRED, b"k", 4) == at.RIGHT


def test_expired_tombstone_supersedes_earlier_records() -> None:
    table = Table()

    table.see(at.IS_GONE, b"k", 1)
    table.see(at.IS_GONE_EXPIRED, b"k", 2)
    table.see(at.IS_GONE_EXPIRED, b"k", 3)

    assert (int(table.words[at.V_SUPERSEDED]), int(table.words[at.V_TOMBSTONES])) == (2, 1)
    assert table.lost() == []


def test_lost_records_are_listed_up_to_the_size_of_the_output() -> None:
    table = Table()
    for offset, key in enumerate((b"a", b"b", b"c")):
        table.see(at.IS_GONE_TOMBSTONE if key == b"b" else at.IS_GONE, key, offset)

    assert table.lost() == [0, 2 * 1 + 1, 2 * 2]
    assert table.lost(room=2) == [0]


def test_keys_are_counted_that_dirty_records_have() -> None:
    table = Table(first_dirty=4)
    for key, offset in ((b"clean", 3), (b"dirty", 5), (b"erased", ERASED)):
        table.see(at.IS_LEARNT, key, offset)
        table.see(at.IS_LEFT, key, min(offset, 7))

    assert at.settle(table.words, table.arena, np.zeros(1, np.int64)) == 1


def test_all_entries_are_found_by_new_slots() -> None:
    table = Table(memory_bytes=4000)
    for number in range(6):
        table.see(at.IS_LEARNT, bytes(number), number, hashed=number % 2)

    table.slots = np.zeros(16, np.int64)

    assert at.fill_slots(table.words, table.slots, table.arena) == 6
    assert [table.see(at.IS_LEFT, bytes(each), each, hashed=each % 2) for each in range(6)] == [
        0
    ] * 6
    assert table.keys == 6
