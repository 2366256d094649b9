"""A rebuild of a map's memory: all keys stay, except those to be dropped."""

import numpy as np

from cordwood.compaction.kernels import key_learning as at
from cordwood.compaction.kernels.key_entries import find
from cordwood.compaction.kernels.key_hashes import signed_word
from cordwood.compaction.kernels.key_map_resizing import fill_slots, forget_others, mark_learnt
from cordwood.compaction.key_hash import key_hash
from cordwood.records.kernels.kernel_definition import Bytes, Words, inlined
from tests.unit.records.kernels.words import source_of

KEYS = [b"%d" % number * (number % 9) for number in range(200)]


@inlined
def found(key: Bytes, hashed: int, slots: Bytes, arena: Bytes) -> int:
    return find(key, 0, len(key), hashed, slots, arena)[0]


def learnt() -> tuple[Words, Bytes]:
    """Return words and an arena in which every key but the empty one was learnt once."""
    words = np.zeros(at.LEARNING_WORDS, np.int64)
    keys = sorted({key for key in KEYS if key})
    data = b"".join(
        number.to_bytes(8, "little") + len(key).to_bytes(4) + key for number, key in enumerate(keys)
    )
    words[at.K_KEYS], words[at.K_USED] = len(keys), len(data)
    return words, np.frombuffer(data, np.uint8).copy()


def held(words: Words, arena: Bytes) -> set[bytes]:
    """Return the keys that are found with new slots."""
    slots = np.zeros(8 * 512, np.uint8)
    fill_slots(words, slots, arena)
    return {
        key for key in KEYS if found(source_of(key), signed_word(key_hash(key)), slots, arena) >= 0
    }


def test_slots_are_rebuilt_from_the_arena() -> None:
    words, arena = learnt()

    assert held(words, arena) == set(KEYS) - {b""}


def test_keys_outside_the_range_are_removed() -> None:
    words, arena = learnt()
    words[at.K_BELOW], words[at.K_WIDTH] = -(1 << 62), (1 << 62) - 1

    forget_others(words, arena)

    expected = {key for key in KEYS if key and 1 << 62 <= key_hash(key) < 1 << 63}
    assert held(words, arena) == expected
    assert words[at.K_KEYS] == len(expected)


def test_last_records_of_keys_that_are_not_erased_are_marked_and_counted() -> None:
    words, arena = learnt()
    latest = np.zeros(30, np.uint8)
    count = int(words[at.K_KEYS]) - 3

    assert mark_learnt(words, arena, latest, count) == count

    assert int(np.unpackbits(latest).sum()) == count
