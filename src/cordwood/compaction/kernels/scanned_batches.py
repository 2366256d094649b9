"""The batches of a proof's windows as rows: scanned, and their checksums compared, once each."""

from typing import Final

import numpy as np

from cordwood.compaction.proof.batch_reader import BatchCursor
from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.crc32c import first_wrong
from cordwood.records.kernels.header_scan import scan
from cordwood.records.kernels.kernel_definition import Bytes, Words

#: As many rows as are looked at together.
_ROWS: Final = 4096


class Scanned:
    """Rows of v2 batches that are not compressed, as many as follow each other and are right."""

    __slots__ = ("_rows", "_state", "_table", "_window", "source")

    def __init__(self) -> None:
        self._table = np.zeros((_ROWS, at.TABLE_WIDTH), np.int64)
        self._state = np.zeros(at.SCAN_WORDS, np.int64)
        self._state[at.S_START] = self._state[at.S_MIN_TIMESTAMP] = INT64_MIN
        self._state[at.S_LAST] = self._state[at.S_GROUP_BYTES] = INT64_MAX >> 1
        self._window = memoryview(b"")
        self._rows = self._table[:0]
        self.source: Bytes = read_only(b"")

    def rows_of(self, batches: BatchCursor) -> Words:
        """Return the rows from where a reader stands on; they lie in `source`."""
        if batches.window is self._window:
            first = int(np.searchsorted(self._rows[:, at.T_POSITION], batches.at))
            rows = self._rows[first:]
            if len(rows) and rows[0, at.T_POSITION] == batches.at:
                return rows
        else:
            self._window, self.source = batches.window, read_only(batches.window)
        self._state[at.S_POSITION] = batches.at
        count = scan(self.source, self._table, self._state)
        if self._state[at.S_KIND] != at.PLAIN_RUN:
            count = 0
        self._rows = self._table[: first_wrong(self.source, self._table, count)]
        return self._rows
