"""Driver of a call to the leaders of several partitions (Java: `AdminApiDriver`).

All leaders are called in parallel, and none waits for a partition without a leader.
"""

import asyncio
from collections.abc import Mapping

from cordwood.client.admin.record_deletion import RecordDeletion
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.topic_partitions import by_topic, partitions_of
from cordwood.core.errors import KafkaError
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.delete_records import DeleteRecordsResponse


async def delete_records(
    client: NetworkClient, offsets: Mapping[tuple[str, int], int]
) -> dict[TopicPartition, int]:
    """Delete all records before each offset; return the new log start offsets."""
    deletion = RecordDeletion(dict(zip(partitions_of(offsets), offsets.values(), strict=True)))

    async def attempt() -> None:
        leaders = await _leaders(client, deletion)
        await asyncio.gather(*(_send(client, deletion, *each) for each in leaders.items()))
        deletion.ensure_answered()

    try:
        await client.retry_until_timeout(attempt)
    except KafkaError as error:
        described = deletion.described(error)
        if described is error:
            raise
        raise described from error
    deletion.ensure_success()
    return deletion.starts


async def _leaders(
    client: NetworkClient, deletion: RecordDeletion
) -> dict[int, list[TopicPartition]]:
    """Group the pending partitions by leader; those without one have failed for now."""
    leaders: dict[int, list[TopicPartition]] = {}
    for partitions in by_topic(deletion.pending).values():
        try:
            await client.leaders(partitions)
        except KafkaError as error:
            leaderless = [each for each in partitions if client.cluster.leader_of(*each) is None]
            deletion.fail(leaderless, error)
        for each in partitions:
            leader = client.cluster.leader_of(*each)
            if leader is not None:
                leaders.setdefault(leader, []).append(each)
    return leaders


async def _send(
    client: NetworkClient,
    deletion: RecordDeletion,
    leader: int,
    partitions: list[TopicPartition],
) -> None:
    request = deletion.request(partitions, timeout_ms=client.settings.request_timeout_ms)
    try:
        response = await client.send(leader, request, kind=DeleteRecordsResponse)
    except KafkaError as error:
        deletion.fail(partitions, error)
    else:
        deletion.handle_response(response)
