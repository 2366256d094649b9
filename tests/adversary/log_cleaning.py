"""Random segments of a planned log, and what a cleaner leaves of the first ones.

The last record of each key stays, among the plain and committed records below the cleaner's end.
The last batch of a producer stays without records. A marker stays as long as a batch of its
transaction does, and may stay longer.
"""

import random
from collections.abc import Iterator
from dataclasses import replace

from cordwood.records.compression import Codec
from tests.adversary.planned_batch import PlannedBatch, PlannedSegment


def segments_of(plan: list[PlannedBatch], chance: random.Random) -> Iterator[PlannedSegment]:
    """Yield the batches in segments of random sizes."""
    share = chance.choice((0.0, 0.1, 0.25, 0.5))
    held: list[PlannedBatch] = []
    for batch in plan:
        if held and chance.random() < share:
            yield PlannedSegment(held[0].base_offset, held)
            held = []
        held.append(batch)
    yield PlannedSegment(held[0].base_offset, held)


def cleaned(
    segments: list[PlannedSegment], chance: random.Random, features: set[str]
) -> tuple[list[PlannedSegment], int]:
    """Return the segments after a pass over some of them, and the offset it has cleaned up to.

    That is 0 if nothing can be cleaned: neither the last segment nor an open transaction.
    """
    bases = [each.base_offset for each in segments[1:]]
    opened = [each.base_offset for one in segments for each in one.batches if each.state == "open"]
    most = sum(base <= min(opened, default=base) for base in bases)
    if not most:
        return segments, 0
    count = chance.randint(1, most)
    left = _Survivors(segments, count, chance)
    out: list[PlannedSegment] = []
    for segment in segments[:count]:
        batches = [kept for each in segment.batches if (kept := left.of(each)) is not None]
        if out and (not batches or not out[-1].batches or chance.random() < 0.5):
            out[-1].batches.extend(batches)
        else:
            out.append(PlannedSegment(segment.base_offset, batches))
    if not out[-1].batches:
        return segments, 0
    features |= {"compacted", *left.features}
    return [*out, *segments[count:]], segments[count].base_offset


class _Survivors:
    """Contents of each batch after a pass over the first `count` segments."""

    def __init__(self, segments: list[PlannedSegment], count: int, chance: random.Random) -> None:
        self._last: dict[bytes | None, int] = {}
        self._newest = {
            each.producer_id: each
            for segment in segments
            for each in segment.batches
            if each.kind == "data" and each.producer_id >= 0
        }
        self._keeps_markers = chance.random() < 0.7
        for segment in segments[:count]:
            for batch in segment.batches:
                if batch.state != "aborted":
                    self._last |= {record.key: record.offset for record in batch.records}
        self.features: set[str] = set()

    def of(self, batch: PlannedBatch) -> PlannedBatch | None:
        """Return what stays of a batch, None if nothing does."""
        if batch.kind != "data":
            stays = self._keeps_markers or any(self.of(each) is not None for each in batch.ends)
            return batch if stays else None
        kept = tuple(each for each in batch.records if self._stays(batch, each.key, each.offset))
        if not kept and self._newest.get(batch.producer_id) is not batch:
            return None
        if not kept:
            self.features.add("emptied batch")
        latest = max((each.timestamp for each in kept), default=batch.times[1])
        codec = batch.codec if kept else Codec.NONE
        out = replace(batch, records=kept, codec=codec, times=(batch.times[0], latest))
        if batch.magic < 2:
            out.base_offset, out.last_offset = kept[0].offset, kept[-1].offset
        return out

    def _stays(self, batch: PlannedBatch, key: bytes | None, offset: int) -> bool:
        return batch.state != "aborted" and self._last[key] == offset
