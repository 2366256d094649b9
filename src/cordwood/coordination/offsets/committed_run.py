"""Run of commits of one group in one topic, as a load replays them (Kafka: single records).

A load of 100,000 offsets takes twice the time if each of them is a record with messages of its own.
"""

from dataclasses import dataclass, field

from cordwood.coordination.offsets.committed_offset import CommittedOffset


@dataclass(slots=True)
class CommittedRun:
    """Commits outside of transactions that follow each other in the log."""

    group_id: str
    topic: str
    #: The commit time of the first record, with which a simple group begins.
    first_ms: int = 0
    #: The last commit of each partition, in the order of their first ones.
    offsets: dict[int, CommittedOffset] = field(default_factory=dict)
    #: The offset of the last record in the internal topic.
    offset: int = -1
