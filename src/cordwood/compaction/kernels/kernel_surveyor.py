"""The surveyor of kernels; old messages, and what is refused, are left to the plain twin."""

from array import array
from collections.abc import Collection
from typing import Final

import numpy as np

from cordwood.compaction.engine.engine import ChunkSummary
from cordwood.compaction.engine.header_survey import PlainSurveyor
from cordwood.compaction.engine.segment_chunk import count_numbered
from cordwood.compaction.kernels import header_survey as at
from cordwood.compaction.kernels.header_survey import scan_headers
from cordwood.core.binary import Buffer, bytes_view
from cordwood.records.batch_stream import batch_at
from cordwood.records.kernels.arena import read_only

#: As many positions as are flagged before they are handed out.
_MOST_FLAGGED: Final = 4096


class KernelSurveyor:
    """Looks with the kernel; see `Surveyor`."""

    __slots__ = ("_flagged", "_last_offsets", "_plain", "_words")

    def __init__(self, last_offsets: Collection[int] = ()) -> None:
        self._plain = PlainSurveyor(last_offsets)
        self._last_offsets = np.array(sorted(last_offsets), np.int64)
        self._flagged = np.zeros(_MOST_FLAGGED, np.int64)
        self._words = np.zeros(at.SURVEY_WORDS, np.int64)

    def summarize(self, data: Buffer) -> ChunkSummary:
        view, words = bytes_view(data), self._words
        source, flagged = read_only(view), array("q")
        words[:] = 0
        while True:
            before, words[at.L_FLAGGED] = int(words[at.L_POSITION]), 0
            scan_headers(source, self._last_offsets, words, self._flagged)
            flagged.frombytes(self._flagged[: words[at.L_FLAGGED]].tobytes())
            position, batches, records, _ = words.tolist()
            if position > before and words[at.L_FLAGGED] == _MOST_FLAGGED:
                continue
            batch = batch_at(view, position)
            if batch is None:
                return ChunkSummary(position, batches, records, flagged)
            if self._plain.is_flagged(batch):
                flagged.append(position)
            words[:] = batch.end, batches + 1, records + count_numbered(batch), 0
