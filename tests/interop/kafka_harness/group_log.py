"""Records of groups in a running Kafka's `__consumer_offsets`, without what differs from ours.

Times and the versions of images are left out. Topics, partitions and members of a value are sorted.
So are records that Kafka writes in the order of a hash map: those of one type in a row, and all
tombstones in a row.
"""

from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from itertools import groupby
from typing import Final, NamedTuple

from cordwood.coordination.coordinator_record import CoordinatorRecord, decode_record
from cordwood.coordination.groups.consumer.conversion.consumer_protocol import read_assignment
from cordwood.core.binary import Buffer
from cordwood.core.errors import BytesError
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages import internal
from cordwood.records.record_batch import RecordBatch
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.comparable_groups import LENGTH_END, group_of

#: The type of the record of a consumer group, whose tombstone is the last one of a group.
GROUP_EPOCH: Final = 3
NEWEST_ASSIGNMENT: Final = 3
_UNTIMED: Final = 0


class PlainRecord(NamedTuple):
    """A record as text."""

    type: int
    key: str
    value: str

    @property
    def is_tombstone(self) -> bool:
        """Whether the record deletes its key."""
        return self.value == "None"


class GroupLog:
    """The records of all groups, read as the log grows."""

    def __init__(self, broker: Broker) -> None:
        self._folder = broker.logs / "__consumer_offsets-0"
        self._position = 0
        self._by_group = defaultdict[str, list[CoordinatorRecord]](list)

    def records(self, group_id: str) -> list[CoordinatorRecord]:
        """Return the records of a group so far."""
        (path,) = self._folder.glob("*.log")
        with path.open("rb") as file:
            file.seek(self._position)
            self._read(file.read())
        return self._by_group[group_id]

    def _read(self, data: bytes) -> None:
        at = 0
        while size := int.from_bytes(data[at + 8 : at + LENGTH_END]):
            if at + LENGTH_END + size > len(data):
                break
            batch = RecordBatch(data[at : at + LENGTH_END + size])
            at += LENGTH_END + size
            for record in () if batch.is_control else batch.records():
                found = decode_record(internal.GROUP_RECORDS, record.key, value=record.value)
                if found is not None:
                    self._by_group[group_of(found)].append(found)
        self._position += at


def plain_records(records: Iterable[CoordinatorRecord]) -> list[PlainRecord]:
    """Return the records as text, with those sorted whose order is that of a hash map."""
    plain = list[PlainRecord]()
    for each in records:
        value = each.value
        was_consumer = bool(plain) and plain[-1].is_tombstone and plain[-1].type == GROUP_EPOCH
        if was_consumer and isinstance(value, internal.GroupMetadataValue):
            # Any member becomes the leader of a group that is converted.
            value = copy(value)
            value.leader = ""
        plain.append(PlainRecord(each.type, str(each.key), str(_plain(value))))
    runs = groupby(plain, key=lambda each: 0 if each.is_tombstone else each.type)
    return [each for _, run in runs for each in sorted(run)]


def _plain(value: object) -> object:
    """Return a value without times, with its lists sorted."""
    match value:
        case internal.OffsetCommitValue():
            value.commit_timestamp = _UNTIMED
            value.expire_timestamp = min(value.expire_timestamp, _UNTIMED)
        case internal.GroupMetadataValue():
            value.current_state_timestamp = _UNTIMED
            value.members.sort(key=lambda each: each.member_id)
            for member in value.members:
                member.assignment = plain_assignment(member.assignment)
        case internal.ConsumerGroupTargetAssignmentMetadataValue():
            value.assignment_timestamp = min(value.assignment_timestamp, 1)
        case internal.ConsumerGroupRegularExpressionValue():
            value.topics.sort()
            value.version = value.timestamp = _UNTIMED
        case internal.ConsumerGroupTargetAssignmentMemberValue():
            return sorted(
                (each.topic_id, sorted(each.partitions)) for each in value.topic_partitions
            )
        case internal.ConsumerGroupCurrentMemberAssignmentValue():
            return (
                value.member_epoch,
                value.previous_member_epoch,
                value.state,
                _owned(value.assigned_partitions),
                _owned(value.partitions_pending_revocation),
            )
    return value


def _owned(topics: list[internal.OwnedPartitions]) -> list[tuple[bytes, list[tuple[int, int]]]]:
    return sorted(
        (
            each.topic_id,
            sorted(zip(each.partitions, each.assignment_epochs or (), strict=True)),
        )
        for each in topics
    )


def plain_assignment(assignment: Buffer) -> bytes:
    """Return an assignment of the consumer protocol with its topics sorted, or the bytes given."""
    blob = bytes(assignment)
    try:
        found = read_assignment(blob)
    except BytesError:
        return blob
    found.assigned_partitions.sort(key=lambda each: each.topic)
    for each in found.assigned_partitions:
        each.partitions.sort()
    return blob[:2] + joined(encode(found, NEWEST_ASSIGNMENT))
