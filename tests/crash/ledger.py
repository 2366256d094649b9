"""Ledger of writes and promises, and the allowed states of a log after a crash.

    ever      every batch that was ever appended to a partition, as its bytes: no other batch may be
              in its log, even if a crash undoes a truncation or deletion
    promised  the batches that a flush has made durable and that no call has begun to remove
    gone      the batches that a cleaner has removed, or changed: absent once its checkpoint has
              passed them

A promise begins when its call has returned, and ends before a breaking call begins.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from cordwood.core.types import TopicPartition

Batch = tuple[int, bytes]


@dataclass
class Ledger:
    """One workload's accounts, by partition. A batch is its base offset and its bytes."""

    ever: defaultdict[TopicPartition, set[Batch]] = field(default_factory=lambda: defaultdict(set))
    present: defaultdict[TopicPartition, list[Batch]] = field(
        default_factory=lambda: defaultdict(list)
    )
    promised: dict[TopicPartition, list[Batch]] = field(default_factory=dict)
    gone: defaultdict[TopicPartition, set[Batch]] = field(default_factory=lambda: defaultdict(set))

    def will_append(self, partition: TopicPartition, batch: Batch) -> None:
        self.ever[partition].add(batch)

    def appended(self, partition: TopicPartition, batch: Batch) -> None:
        self.present[partition].append(batch)

    def flushed(self, partition: TopicPartition) -> None:
        """All that is present is durable now."""
        self.promised[partition] = list(self.present[partition])

    def will_truncate(self, partition: TopicPartition, offset: int) -> None:
        """Batches from `offset` on may be gone from here on."""
        self._keep(partition, lambda base: base < offset)

    def will_start_at(self, partition: TopicPartition, offset: int) -> None:
        """Batches below `offset` may be gone from here on."""
        self._keep(partition, lambda base: base >= offset)

    def will_clean(self, partition: TopicPartition, left: list[Batch], *, end: int) -> None:
        """Below `end` these may be there from here on, or what was there before."""
        self.ever[partition].update(left)
        before = [each for each in self.present[partition] if each[0] < end]
        self.gone[partition].update(set(before) - set(left))
        doomed = self.gone[partition]
        for accounts in (self.present, self.promised):
            if partition in accounts:
                accounts[partition] = [each for each in accounts[partition] if each not in doomed]

    def cleaned(self, partition: TopicPartition, left: list[Batch], *, end: int) -> None:
        """These are there now below `end`, durably."""
        for accounts in (self.present, self.promised):
            above = [each for each in accounts.get(partition, []) if each[0] >= end]
            accounts[partition] = [*left, *above]

    def will_delete(self, partition: TopicPartition) -> None:
        """The whole log may be gone from here on."""
        self.promised.pop(partition, None)
        self.present.pop(partition, None)

    def _keep(self, partition: TopicPartition, stays: Callable[[int], bool]) -> None:
        for accounts in (self.present, self.promised):
            if partition in accounts:
                accounts[partition] = [each for each in accounts[partition] if stays(each[0])]
