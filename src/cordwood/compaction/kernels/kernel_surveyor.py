"""The surveyor of kernels; old messages, and what is refused, are left to the plain twin."""

from array import array
from collections.abc import Collection
from typing import Final

import numpy as np

from cordwood.compaction.engine import Sighting
from cordwood.compaction.kernels import looking as at
from cordwood.compaction.kernels.looking import look_at
from cordwood.compaction.sighting import PlainSurveyor, numbered
from cordwood.core.binary import Buffer, bytes_view
from cordwood.records.kernels.arena import read_only
from cordwood.records.stream import batch_at

#: As many positions as are noted before they are handed out.
_NOTES: Final = 4096


class KernelSurveyor:
    """Looks with the kernel; see `Surveyor`."""

    __slots__ = ("_last_offsets", "_noted", "_plain", "_words")

    def __init__(self, last_offsets: Collection[int] = ()) -> None:
        self._plain = PlainSurveyor(last_offsets)
        self._last_offsets = np.array(sorted(last_offsets), np.int64)
        self._noted = np.zeros(_NOTES, np.int64)
        self._words = np.zeros(at.LOOKING_WORDS, np.int64)

    def look(self, data: Buffer) -> Sighting:
        view, words = bytes_view(data), self._words
        source, noted = read_only(view), array("q")
        words[:] = 0
        while True:
            before, words[at.L_NOTED] = int(words[at.L_POSITION]), 0
            look_at(source, self._last_offsets, words, self._noted)
            noted.frombytes(self._noted[: words[at.L_NOTED]].tobytes())
            position, batches, records, _ = words.tolist()
            if position > before and words[at.L_NOTED] == _NOTES:
                continue
            batch = batch_at(view, position)
            if batch is None:
                return Sighting(position, batches, records, noted)
            if self._plain.notes(batch):
                noted.append(position)
            words[:] = batch.end, batches + 1, records + numbered(batch), 0
