"""Tests of the partitions of a fetch request."""

from cordwood.broker.partitions.requested_partitions import partitions_of
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from tests.unit.broker.broker_samples import loop_turns, run

ID = Uuid(b"i" * 16)


def test_partition_is_requested_once_by_name_or_by_id() -> None:
    wanted = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=index)
        for index in (1, 1, 2)
    ]
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        topics=[FetchTopic(topic="t", topic_id=ID, partitions=wanted)],
        forgotten_topics=[ForgottenTopic(topic="t", topic_id=ID, partitions=[3])],
    )

    by_name = run(partitions_of(request, 12, turns=loop_turns()))
    by_id = run(partitions_of(request, 13, turns=loop_turns()))

    assert [(each.key, each.wanted) for each in by_name.requested.values()] == [
        (("t", 1), wanted[1]),
        (("t", 2), wanted[2]),
    ]
    assert [*by_id.requested] == [(ID, 1), (ID, 2)]
    assert (by_name.forgotten, by_id.forgotten) == ([("t", 3)], [(ID, 3)])


def test_partitions_of_a_long_list_are_all_requested() -> None:
    wanted = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1)
        for index in range(2_500)
    ]
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="t", partitions=wanted)]
    )

    requested, _ = run(partitions_of(request, 12, turns=loop_turns()))

    assert [index for _, index in requested] == [*range(2_500)]
