"""Batches and segments of a random log before they have bytes."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cordwood.records.compression import Codec
from tests.adversary.batch_bytes import (
    TRANSACTIONAL,
    BatchFacts,
    EncodedBatch,
    RecordContent,
    Span,
    marker,
    old_messages,
    v2_batch,
)

START_MS: Final = 1_700_000_000_000
NO_PRODUCER: Final = (-1, -1, -1)
STATES: Final = {"commit": "committed", "abort": "aborted"}


@dataclass(eq=False)
class PlannedBatch:
    """A batch: records, or a marker with the batches that it `ends`.

    `kind` is "data", "commit" or "abort". `times` are its base and its latest timestamp.
    """

    magic: int
    codec: Codec
    records: tuple[RecordContent, ...]
    base_offset: int
    last_offset: int
    leader_epoch: int
    times: Span
    kind: str = "data"
    producer: tuple[int, int, int] = NO_PRODUCER
    is_transactional: bool = False
    state: str = "plain"
    ends: "list[PlannedBatch]" = field(default_factory=list)

    @property
    def producer_id(self) -> int:
        return self.producer[0]

    def encoded(self) -> EncodedBatch:
        """Return the bytes; a batch of an old format without codec has one record."""
        if self.magic < 2:
            (only,) = old_messages(self.magic, self.codec, self.records)
            return only
        attributes = int(self.codec) | (TRANSACTIONAL if self.is_transactional else 0)
        facts = BatchFacts(
            self.base_offset, self.last_offset, self.leader_epoch, *self.producer, attributes
        )
        if self.kind == "data":
            return v2_batch(facts, self.records, self.times)
        is_commit = self.kind == "commit"
        return EncodedBatch(marker(facts, is_commit=is_commit, timestamp=self.times[1]), ())


class PlannedSegment(NamedTuple):
    """A segment of batches."""

    base_offset: int
    batches: list[PlannedBatch]
