"""Commands of the family `groups/offsets`: one shard, its clients, its log.

A partition is a word such as `orders-0`; with an offset it is `orders-0:5`, and with a leader epoch
`orders-0:5@3`. An outcome has a line for each partition, and then the records that were written.
"""

from typing import Final

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from cordwood.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseTopic,
)
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from tests.scripts.shard_commands import ShardCommands, error_text, lines_of, number_of, written

_GROUPS_SINCE: Final = 8
_TOPIC_IDS_SINCE: Final = 10


class OffsetCommands(ShardCommands):
    """Commits, fetches and deletions of offsets."""

    # -- offsets

    def commit(
        self,
        group: str,
        *partitions: str,
        version: int = 10,
        member: str = "",
        generation: int = -1,
        retention: int = -1,
        metadata: str = "",
    ) -> str:
        """Commit offsets."""
        request = OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=self.members.get(member, member),
            retention_time_ms=retention,
            topics=[
                OffsetCommitRequestTopic(
                    name=topic if version < _TOPIC_IDS_SINCE else "",
                    topic_id=self.id_of(topic) if version >= _TOPIC_IDS_SINCE else NO_UUID,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=number,
                            committed_offset=offset,
                            committed_leader_epoch=epoch,
                            committed_metadata=metadata,
                        )
                    ],
                )
                for topic, number, offset, epoch in map(_split, partitions)
            ],
        )
        harness, ticket = self.harness, self.harness.ticket()
        context = harness.context(version)
        records = harness.run(
            harness.shard.offset_commit(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        response = harness.answer(ticket, OffsetCommitResponse)
        lines = [
            f"{topic.name or number_of(topic.topic_id)}-{each.partition_index}: "
            + error_text(each.error_code)
            for topic in response.topics
            for each in topic.partitions
        ]
        return lines_of(*lines, written(records))

    def txn_commit(
        self,
        group: str,
        *partitions: str,
        producer: int,
        version: int = 5,
        member: str = "",
        generation: int = -1,
        metadata: str = "",
    ) -> str:
        """Commit offsets in the transaction of a producer."""
        request = TxnOffsetCommitRequest(
            transactional_id=f"t{producer}",
            group_id=group,
            producer_id=producer,
            producer_epoch=0,
            generation_id=generation,
            member_id=self.members.get(member, member),
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=number,
                            committed_offset=offset,
                            committed_leader_epoch=epoch,
                            committed_metadata=metadata,
                        )
                    ],
                )
                for topic, number, offset, epoch in map(_split, partitions)
            ],
        )
        harness, ticket = self.harness, self.harness.ticket()
        context = harness.context(version)
        records = harness.run(
            harness.shard.txn_offset_commit(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        response = harness.answer(ticket, TxnOffsetCommitResponse)
        lines = [
            f"{each.name}-{p.partition_index}: {error_text(p.error_code)}"
            for each in response.topics
            for p in each.partitions
        ]
        return lines_of(*lines, written(records))

    def commit_transaction(self, producer: int) -> None:
        """Write the marker COMMIT."""
        self.harness.end_transaction(producer, is_commit=True)

    def abort_transaction(self, producer: int) -> None:
        """Write the marker ABORT."""
        self.harness.end_transaction(producer, is_commit=False)

    def fetch(
        self,
        group: str,
        *partitions: str,
        version: int = 9,
        stable: bool = False,
        member: str = "",
        epoch: int = -1,
    ) -> str:
        """Fetch committed offsets; without partitions, all of them."""
        topics = [
            OffsetFetchRequestTopic(
                name=topic if version < _TOPIC_IDS_SINCE else "",
                topic_id=self.id_of(topic) if version >= _TOPIC_IDS_SINCE else NO_UUID,
                partition_indexes=[number],
            )
            for topic, number, *_ in map(_split, partitions)
        ]
        wanted = OffsetFetchRequestGroup(
            group_id=group,
            member_id=self.members.get(member, member) if member else None,
            member_epoch=epoch,
            topics=topics or None,
        )
        request = OffsetFetchRequest(groups=[wanted], require_stable=stable)
        if version < _GROUPS_SINCE:
            request = OffsetFetchRequest(
                group_id=group, topics=wanted.topics, require_stable=stable
            )
        harness, ticket = self.harness, self.harness.ticket()
        context = harness.context(version)
        harness.run(
            harness.shard.offset_fetch(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        response = harness.answer(ticket, OffsetFetchResponse)
        if version < _GROUPS_SINCE:
            return _fetched(response.error_code, response.topics)
        return _fetched(response.groups[0].error_code, response.groups[0].topics)

    def delete_offsets(self, group: str, *partitions: str) -> str:
        """Delete committed offsets."""
        request = OffsetDeleteRequest(
            group_id=group,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=number)]
                )
                for topic, number, *_ in map(_split, partitions)
            ],
        )
        harness, ticket = self.harness, self.harness.ticket()
        context = harness.context(0)
        records = harness.run(
            harness.shard.offset_delete(request, context, ticket=ticket, now_ms=harness.now_ms)
        )
        response = harness.answer(ticket, OffsetDeleteResponse)
        lines = [
            f"{each.name}-{p.partition_index}: {error_text(p.error_code)}"
            for each in response.topics
            for p in each.partitions
        ]
        return lines_of(*lines, written(records))


def _split(word: str) -> tuple[str, int, int, int]:
    partition, _, commit = word.partition(":")
    topic, _, number = partition.rpartition("-")
    offset, _, epoch = commit.partition("@")
    return topic, int(number), int(offset or -1), int(epoch or -1)


def _fetched(error_code: int, topics: list[OffsetFetchResponseTopic]) -> str:
    if error_code:
        return f"error of the group: {error_text(error_code)}"
    lines = list[str]()
    for topic in topics:
        for each in topic.partitions:
            details = [str(each.committed_offset)]
            details += [f"epoch {each.committed_leader_epoch}"] * (each.committed_leader_epoch >= 0)
            details += [f"'{each.metadata}'"] if each.metadata else []
            details += [error_text(each.error_code)] if each.error_code else []
            name = topic.name or number_of(topic.topic_id)
            lines.append(f"{name}-{each.partition_index}: {', '.join(details)}")
    return lines_of(*lines)
