"""Strides over batches: headers by `scan`, checksums, then one look at each row of the table.

    words      the footing, and how much has been told: the words W_ below
    producers  a line a slot, and a producer has one slot: who was last seen there, in which
               producer epoch, how many batches ago, and where the last of these batches lie

Who meets another in its slot takes it, and the last batches of the other are heard of then.
"""

from typing import Final

import numpy as np

from cordwood.core.binary import INT64_MAX, INT64_MIN, Buffer, bytes_view
from cordwood.records.batch import CONTROL_BIT, TRANSACTIONAL_BIT
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.castagnoli import first_wrong
from cordwood.records.kernels.door import INT, TABLE, WORDS, Words, inlined, kernel
from cordwood.records.kernels.scan import scan
from cordwood.records.stride import LAST_HEARD, Footing, Stride, StrideEntry

W_NEXT = 0
W_HIGHEST = 1
W_INTERVAL = 2
W_SINCE = 3
W_LATEST = 4
W_LATEST_OFFSET = 5
FOOTING_WORDS = 6
W_EPOCH = 6
W_HEARD = 7
W_ENTRIES = 8
STRIDE_WORDS: Final = 9

SLOTS = 64
P_ID = 0
P_EPOCH = 1
P_COUNT = 2
P_LAST = 3
SLOT_WIDTH: Final = P_LAST + LAST_HEARD

#: As many rows as are looked at before it is known whether the first of them is ordinary.
ROWS: Final = 512
GROUP_BYTES: Final = 256 * 1024
MOST_TOLD: Final = 8192
#: What one row may add to those who are heard: itself, and who was in its slot.
MOST_AT_ONCE = 1 + LAST_HEARD


@inlined
def _is_ordinary(row: Words, words: Words) -> bool:
    """Whether a batch with a right checksum has nothing about it that needs a closer look."""
    base, delta = row[at.T_BASE_OFFSET], row[at.T_LAST_DELTA]
    if row[at.T_ATTRIBUTES] & (CONTROL_BIT | TRANSACTIONAL_BIT):
        return False
    if base < words[W_NEXT] or base > words[W_HIGHEST]:
        return False
    return bool(0 <= delta <= words[W_HIGHEST] - base)


@inlined
def _hear(position: int, words: Words, heard: Words) -> None:
    heard[words[W_HEARD]] = position
    words[W_HEARD] += 1


@inlined
def _see_producer(row: Words, slot: Words, words: Words, heard: Words) -> None:
    """Keep a batch among the last of its producer, or hear of it as the first."""
    position = row[at.T_POSITION]
    if slot[P_ID] == row[at.T_PRODUCER_ID] and slot[P_EPOCH] == row[at.T_PRODUCER_EPOCH]:
        slot[P_LAST + slot[P_COUNT] % LAST_HEARD] = position
        slot[P_COUNT] += 1
        return
    for last in range(min(slot[P_COUNT], LAST_HEARD)):
        _hear(slot[P_LAST + last], words, heard)
    slot[P_ID], slot[P_EPOCH] = row[at.T_PRODUCER_ID], row[at.T_PRODUCER_EPOCH]
    slot[P_COUNT] = 0
    _hear(position, words, heard)


@inlined
def _see_place(row: Words, words: Words, entries: Words) -> None:
    """Account for the batch in the indexes."""
    last = row[at.T_BASE_OFFSET] + row[at.T_LAST_DELTA]
    if row[at.T_MAX_TIMESTAMP] > words[W_LATEST]:
        words[W_LATEST], words[W_LATEST_OFFSET] = row[at.T_MAX_TIMESTAMP], last
    if words[W_SINCE] > words[W_INTERVAL]:
        entry = entries[words[W_ENTRIES]]
        entry[0], entry[1] = last, row[at.T_POSITION]
        entry[2], entry[3] = words[W_LATEST], words[W_LATEST_OFFSET]
        words[W_ENTRIES] += 1
        words[W_SINCE] = 0
    words[W_SINCE] += row[at.T_SIZE]
    words[W_NEXT] = last + 1


@kernel(INT, TABLE, WORDS, TABLE, WORDS, TABLE)
def stride_rows(table: Words, words: Words, producers: Words, heard: Words, entries: Words) -> int:
    """Go over rows; returns the first that is not ordinary, or for which there is no room."""
    for number in range(len(table)):
        row = table[number]
        has_room = words[W_HEARD] + MOST_AT_ONCE < len(heard) and words[W_ENTRIES] < len(entries)
        if not has_room or not _is_ordinary(row, words):
            return number
        if row[at.T_LEADER_EPOCH] > words[W_EPOCH]:
            words[W_EPOCH] = row[at.T_LEADER_EPOCH]
            _hear(row[at.T_POSITION], words, heard)
        if row[at.T_PRODUCER_ID] >= 0:
            _see_producer(row, producers[row[at.T_PRODUCER_ID] % SLOTS], words, heard)
        _see_place(row, words, entries)
    return len(table)


class KernelStrider:
    """Strides with the kernels; keeps its tables."""

    __slots__ = ("_entries", "_heard", "_producers", "_state", "_table", "_words")

    def __init__(self) -> None:
        self._table = np.zeros((ROWS, at.TABLE_WIDTH), np.int64)
        self._state = np.zeros(at.SCAN_WORDS, np.int64)
        self._words = np.zeros(STRIDE_WORDS, np.int64)
        self._producers = np.zeros((SLOTS, SLOT_WIDTH), np.int64)
        self._heard = np.zeros(MOST_TOLD, np.int64)
        self._entries = np.zeros((MOST_TOLD, len(StrideEntry._fields)), np.int64)

    def stride(self, data: Buffer, footing: Footing) -> Stride:
        """Go over ordinary batches; see `Strider`."""
        self._begin(footing)
        end, count = self._go(data)
        words = self._words.tolist()
        return Stride(
            end,
            count,
            footing._replace(**dict(zip(Footing._fields, words[:FOOTING_WORDS], strict=True))),
            self._all_heard(words[W_HEARD]),
            list(map(StrideEntry._make, self._entries[: words[W_ENTRIES]].tolist())),
        )

    def _begin(self, footing: Footing) -> None:
        state, words = self._state, self._words
        state[at.S_START] = state[at.S_MIN_TIMESTAMP] = INT64_MIN
        state[at.S_LAST], state[at.S_GROUP_BYTES] = INT64_MAX, GROUP_BYTES
        highest = min(footing.highest_offset, INT64_MAX - 1)
        words[:FOOTING_WORDS] = footing._replace(highest_offset=highest)
        words[W_EPOCH], words[W_HEARD], words[W_ENTRIES] = -1, 0, 0
        self._producers[:, P_ID] = -1
        self._producers[:, P_COUNT] = 0

    def _go(self, data: Buffer) -> tuple[int, int]:
        """Stride from run to run; returns where that ended, and over how many batches it went."""
        source, table, state = read_only(bytes_view(data)), self._table, self._state
        end = count = 0
        while True:
            state[at.S_POSITION] = end
            rows = scan(source, table, state)
            if not rows or state[at.S_KIND] not in (at.PLAIN_RUN, at.PACKED_RUN):
                return end, count
            right = first_wrong(source, table, rows)
            passed = stride_rows(
                table[:right], self._words, self._producers, self._heard, self._entries
            )
            count += passed
            if passed:
                end = int(table[passed - 1, at.T_DATA_END])
            if passed < rows:
                return end, count

    def _all_heard(self, count: int) -> list[int]:
        """Who is heard, and the last batches of those who still have a slot; in order, once."""
        producers = self._producers
        is_kept = np.arange(LAST_HEARD) < producers[:, P_COUNT, None]
        last = producers[:, P_LAST:][is_kept]
        heard: list[int] = np.unique(np.concatenate((self._heard[:count], last))).tolist()
        return heard
