"""Responses and records of groups without what differs from Kafka's: times, ids, hash orders."""

from collections.abc import Container, Iterable, Iterator
from typing import Final

from cordwood.coordination.coordinator_record import (
    CoordinatorRecord,
    decode_record,
    encode_record,
)
from cordwood.protocol.messages import internal
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from cordwood.protocol.messages.delete_groups import DeleteGroupsResponse
from cordwood.protocol.messages.list_groups import ListGroupsResponse
from cordwood.protocol.messages.offset_fetch import OffsetFetchResponse
from cordwood.protocol.schema import Response
from cordwood.records.record_batch import RecordBatch
from tests.interop.kafka_harness.brokers import Broker

#: Bytes of a batch before those that its length counts.
LENGTH_END: Final = 12


def comparable_response(response: Response, groups: Container[str]) -> Response:
    """Return a response without the order of hash maps, and without the groups of others."""
    match response:
        case OffsetFetchResponse():
            for topics in (response.topics, *(each.topics for each in response.groups)):
                topics.sort(key=lambda each: (each.name, each.topic_id))
                for topic in topics:
                    topic.partitions.sort(key=lambda each: each.partition_index)
        case ListGroupsResponse():
            response.groups = sorted(
                (each for each in response.groups if each.group_id in groups),
                key=lambda each: each.group_id,
            )
        case DeleteGroupsResponse():
            response.results.sort(key=lambda each: each.group_id)
        case ConsumerGroupHeartbeatResponse(assignment=assignment) if assignment is not None:
            for each in assignment.topic_partitions:
                each.partitions.sort()
    return response


def kafka_records(broker: Broker, groups: Container[str]) -> Iterator[CoordinatorRecord]:
    """Yield the records of some groups in Kafka's log."""
    for path in sorted((broker.logs / "__consumer_offsets-0").glob("*.log")):
        stored = (each for batch in _batches(path.read_bytes()) for each in batch.records())
        for record in stored:
            found = decode_record(internal.GROUP_RECORDS, record.key, value=record.value)
            if found is not None and group_of(found) in groups:
                yield found


def _batches(data: bytes) -> Iterator[RecordBatch]:
    """Yield the batches of records, up to the end or to a part that is not written yet."""
    at = 0
    while size := int.from_bytes(data[at + 8 : at + LENGTH_END]):
        batch = RecordBatch(data[at : at + LENGTH_END + size])
        at += LENGTH_END + size
        if not batch.is_control:
            yield batch


def group_of(record: CoordinatorRecord) -> str:
    """Return the group of a record."""
    return str(getattr(record.key, "group", "") or getattr(record.key, "group_id", ""))


def comparable_records(records: Iterable[CoordinatorRecord]) -> list[tuple[bytes, bytes | None]]:
    """Return the bytes of records without times and member ids, with runs of tombstones sorted."""
    found, run = list[tuple[bytes, bytes | None]](), list[tuple[bytes, bytes | None]]()
    for record in records:
        encoded = encode_record(without_times(record))
        if record.value is None:
            run.append(encoded)
            continue
        found += sorted(run, key=lambda each: each[0])
        found.append(encoded)
        run = []
    return found + sorted(run, key=lambda each: each[0])


def without_times(record: CoordinatorRecord) -> CoordinatorRecord:
    """Return a record without times and ids of members."""
    match record.value:
        case internal.OffsetCommitValue() as value:
            value.commit_timestamp = 0
            value.expire_timestamp = min(value.expire_timestamp, 0)
        case internal.GroupMetadataValue() as value:
            value.current_state_timestamp = 0
            value.leader = value.leader and "c"
            for each in value.members:
                each.member_id = "c"
        case internal.ConsumerGroupTargetAssignmentMetadataValue() as value:
            value.assignment_timestamp = 0
    return record
