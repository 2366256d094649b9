"""Kernel of `records.tail_scan`: headers by `header_scan`, checksums, then each row of the table.

    words      the state of the scan, and the number of results: the words W_ below
    producers  one line per slot, one slot per producer: the producer last seen there, its
               producer epoch, the number of its batches, and the positions of the last ones

A producer that meets another in its slot takes the slot; the other's last batches become notable at
that moment.
"""

from typing import Final

import numpy as np

from cordwood.core.binary import INT64_MAX, INT64_MIN, Buffer, bytes_view
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.crc32c import first_wrong
from cordwood.records.kernels.header_scan import scan
from cordwood.records.kernels.kernel_definition import (
    BATCH_ROWS,
    INT,
    TABLE,
    WORDS,
    Words,
    inlined,
    kernel,
)
from cordwood.records.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT
from cordwood.records.tail_scan import LAST_HEARD, ScannedIndexEntry, ScanState, TailScan

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

ENTRY_WIDTH: Final = len(ScannedIndexEntry._fields)

#: The rows of the first look, before it is known whether batches are ordinary.
ROWS: Final = 512
GROUP_BYTES: Final = 256 * 1024
MOST_TOLD: Final = 8192
#: The notable batches that one row can add: itself, and those of its slot.
MOST_AT_ONCE = 1 + LAST_HEARD


@inlined
def _is_ordinary(row: Words, words: Words) -> bool:
    """Return whether a batch with a right checksum needs no closer look."""
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
    """Keep a batch among its producer's last ones, or report it as the first."""
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


@kernel(INT, BATCH_ROWS, WORDS.of(STRIDE_WORDS), TABLE.of(SLOT_WIDTH), WORDS, TABLE.of(ENTRY_WIDTH))
def stride_rows(table: Words, words: Words, producers: Words, heard: Words, entries: Words) -> int:
    """Scan rows; return the first that is not ordinary, or that has no room in the results."""
    if len(producers) < SLOTS:
        return 0
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


class KernelTailScanner:
    """A scanner with kernels; keeps its tables."""

    __slots__ = ("_entries", "_heard", "_producers", "_state", "_table", "_words")

    def __init__(self) -> None:
        self._table = np.zeros((ROWS, at.TABLE_WIDTH), np.int64)
        self._state = np.zeros(at.SCAN_WORDS, np.int64)
        self._words = np.zeros(STRIDE_WORDS, np.int64)
        self._producers = np.zeros((SLOTS, SLOT_WIDTH), np.int64)
        self._heard = np.zeros(MOST_TOLD, np.int64)
        self._entries = np.zeros((MOST_TOLD, ENTRY_WIDTH), np.int64)

    def stride(self, data: Buffer, footing: ScanState) -> TailScan:
        """Scan ordinary batches; see `TailScanner`."""
        self._begin(footing)
        end, count = self._go(data)
        words = self._words.tolist()
        return TailScan(
            end,
            count,
            footing._replace(**dict(zip(ScanState._fields, words[:FOOTING_WORDS], strict=True))),
            self._all_heard(words[W_HEARD]),
            list(map(ScannedIndexEntry._make, self._entries[: words[W_ENTRIES]].tolist())),
        )

    def _begin(self, footing: ScanState) -> None:
        state, words = self._state, self._words
        state[at.S_START] = state[at.S_MIN_TIMESTAMP] = INT64_MIN
        state[at.S_LAST], state[at.S_GROUP_BYTES] = INT64_MAX, GROUP_BYTES
        highest = min(footing.highest_offset, INT64_MAX - 1)
        words[:FOOTING_WORDS] = footing._replace(highest_offset=highest)
        words[W_EPOCH], words[W_HEARD], words[W_ENTRIES] = -1, 0, 0
        self._producers[:, P_ID] = -1
        self._producers[:, P_COUNT] = 0

    def _go(self, data: Buffer) -> tuple[int, int]:
        """Scan run after run; return the end, and the number of batches."""
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
        """Return the notable batches and the last ones of the remaining slots; in order, once."""
        producers = self._producers
        is_kept = np.arange(LAST_HEARD) < producers[:, P_COUNT, None]
        last = producers[:, P_LAST:][is_kept]
        heard: list[int] = np.unique(np.concatenate((self._heard[:count], last))).tolist()
        return heard
