"""The batches of a chunk, each with its fate and the number of its first record."""

from collections.abc import Iterator
from typing import NamedTuple

from cordwood.compaction.engine import Chunk
from cordwood.compaction.fates import Fate
from cordwood.compaction.sighting import numbered
from cordwood.records.stream import AnyBatch, batches, ensure_whole


class FatedBatch(NamedTuple):
    """A batch whose checksum is right."""

    batch: AnyBatch
    fate: Fate
    first_number: int


def fated_batches(chunk: Chunk) -> Iterator[FatedBatch]:
    """Yield what a chunk is made of, each batch checked against its own checksum."""
    fates = dict(zip(chunk.positions, chunk.fates, strict=True))
    number, end = chunk.first_number, 0
    for batch in batches(chunk.data):
        batch.ensure_valid()
        yield FatedBatch(batch, Fate(fates.get(batch.position, 0)), number)
        number, end = number + numbered(batch), batch.end
    ensure_whole(chunk.data, end)
