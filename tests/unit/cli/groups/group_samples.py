"""Groups for the tests of commands: values, and groups of a running broker."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import cordwood
from cordwood.client.admin.group_types import GroupDescription, MemberDescription
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.types import TopicPartition


def place(topic: str, number: int) -> TopicPartition:
    (partition,) = partitions_of([(topic, number)])
    return partition


def member(
    member_id: str,
    *assigned: TopicPartition,
    instance: str | None = None,
    is_upgraded: bool | None = True,
) -> MemberDescription:
    return MemberDescription(
        member_id=member_id,
        instance_id=instance,
        rack_id=None,
        client_id="saw",
        host="/10.0.0.1",
        epoch=3,
        assignment=assigned,
        target_assignment=assigned,
        is_upgraded=is_upgraded,
    )


def described(*members: MemberDescription, state: str = "Stable") -> GroupDescription:
    return GroupDescription(
        group_id="billing",
        type="consumer",
        protocol_type="consumer",
        state=state,
        assignor="uniform",
        coordinator=1,
        members=members,
        group_epoch=4,
        assignment_epoch=3,
    )


def make_group(
    bootstrap: str, offsets: Mapping[tuple[str, int], int], *, group: str = "billing"
) -> None:
    """Create a topic of two partitions, the first with four records, and commit offsets."""
    with cordwood.Admin(bootstrap) as admin, cordwood.Producer(bootstrap) as producer:
        if "orders" not in admin.list_topics():
            admin.create_topic("orders", partitions=2)
            for number in range(4):
                producer.send("orders", b"%d" % number, partition=0, timestamp_ms=1_000).result()
        admin.alter_group_offsets(group, offsets)


def committed(bootstrap: str, group: str = "billing") -> dict[tuple[str, int], int]:
    with cordwood.Admin(bootstrap) as admin:
        found = admin.list_group_offsets(group)
    return {each: offset.offset for each, offset in found.items()}


@contextmanager
def running_member(bootstrap: str, group: str = "billing") -> Iterator[None]:
    """Keep a member of the group until the end."""
    with cordwood.Consumer(bootstrap, group=group, enable_auto_commit=False) as consumer:
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            consumer.poll(100)
        yield
