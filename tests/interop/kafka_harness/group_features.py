"""Features of groups in the conformance test: one function each, and their table.

The members are of the client under test; another client writes the records, and sees the group
from outside.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Final, cast

import pytest

from tests.interop.kafka_harness.client import (
    CannotError,
    Client,
    Member,
    Membership,
    Polled,
    RefusedError,
)
from tests.interop.kafka_harness.features import Check, Feature, Place, soon, texts
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import Json, record_to_json

GROUP_ID_NOT_FOUND: Final = 69
PARTITIONS: Final = 4
EACH: Final = 5


class Polls:
    """Members that are polled in turn, with everything that they have returned."""

    def __init__(self, *members: Member) -> None:
        self._members = members
        self.history: list[list[list[int]]] = [[] for _ in members]
        self.values: list[bytes] = []

    @property
    def assigned(self) -> list[list[int]]:
        """The partitions of each member after its last poll."""
        return [each[-1] if each else [] for each in self.history]

    def until(self, is_done: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not is_done():
            assert time.monotonic() < end, f"{self.assigned}, {len(self.values)} values"
            for member, seen in zip(self._members, self.history, strict=True):
                polled: Polled = member.poll()
                seen.append(sorted(polled.assigned))
                self.values += polled.values

    def until_shared(self, *shares: int) -> None:
        """Poll until each member has its number of partitions, and each partition an owner."""

        def is_shared() -> bool:
            owned = [partition for each in self.assigned for partition in each]
            sizes = [len(each) for each in self.assigned]
            return sizes == [*shares] and len(set(owned)) == PARTITIONS

        self.until(is_shared)


def _fill_all(place: Place, value: str) -> set[bytes]:
    """Write records to each partition; return their values."""
    wanted: set[bytes] = set()
    for partition in range(PARTITIONS):
        records = texts(EACH, value=f"{value}-{partition}")
        wanted |= {record.value for record in records if record.value}
        sent: list[Json] = [record_to_json(record) for record in records]
        place.ask("produce", topic=place.topic, partition=partition, records=sent)
    return wanted


def committed(place: Place, group: str) -> dict[str, Json]:
    """The committed offsets of a group as another client sees them."""
    return cast("dict[str, Json]", place.ask("group_offsets", group=group))


def _described(place: Place) -> dict[str, Json]:
    return cast("dict[str, Json]", place.ask("describe_group", group=place.topic))


def _subscribe(client: Client, place: Place) -> None:
    place.create()
    records = place.fill(20)

    seen = client.read_group(place.topic, place.topic, count=20)

    assert seen == [record.value for record in records]
    assert place.topic in cast("Sequence[str]", place.ask("list_groups"))


def _resume(client: Client, place: Place) -> None:
    if not client.has_commits:
        raise CannotError("does not commit offsets to a group")
    place.create()
    place.fill(10)
    client.read_group(place.topic, place.topic, count=10)
    later = place.fill(7, value="later")

    seen = client.read_group(place.topic, place.topic, count=7)

    assert seen == [record.value for record in later]
    assert committed(place, place.topic) == {f"{place.topic}-0": 17}


def _share(protocol: str) -> Check:
    def check(client: Client, place: Place) -> None:
        membership = Membership(group=place.topic, topic=place.topic, protocol=protocol)
        place.create(partitions=PARTITIONS)
        _fill_all(place, "first")
        with ExitStack() as stack:
            first, second = client.join(membership), client.join(membership)
            leave = stack.enter_context(ExitStack())
            leave.callback(first.leave)
            stack.callback(second.leave)

            both = Polls(first, second)
            both.until_shared(2, 2)
            wanted = _fill_all(place, "second")
            both.until(lambda: wanted <= {*both.values})
            assert str(_described(place)["type"]).lower() == protocol
            first.commit()
            second.commit()
            leave.close()
            rest = Polls(second)
            rest.until_shared(PARTITIONS)

            more = _fill_all(place, "third")
            rest.until(lambda: len(rest.values) >= len(more))
            second.commit()
        assert sorted(rest.values) == sorted(more)
        assert [*committed(place, place.topic).values()] == [3 * EACH] * PARTITIONS

    return check


def _static(protocol: str) -> Check:
    def check(client: Client, place: Place) -> None:
        def join(instance: str) -> Member:
            return client.join(
                Membership(
                    group=place.topic, topic=place.topic, protocol=protocol, instance=instance
                )
            )

        place.create(partitions=PARTITIONS)
        with ExitStack() as stack:
            returns, stays = join("returns"), join("stays")
            stack.callback(stays.leave)
            before = Polls(returns, stays)
            before.until_shared(2, 2)

            returns.leave()
            returned = join("returns")
            stack.callback(returned.leave)
            after = Polls(returned, stays)
            after.until(lambda: bool(after.assigned[0]))

            assert after.assigned == before.assigned
            assert all(each == before.assigned[1] for each in after.history[1])
            described = _described(place)
            assert described["instances"] == ["returns", "stays"]
            assert str(described["type"]).lower() == protocol

    return check


def _cooperate(client: Client, place: Place) -> None:
    membership = Membership(group=place.topic, topic=place.topic, assignor="cooperative-sticky")
    place.create(partitions=PARTITIONS)
    with ExitStack() as stack:
        first = client.join(membership)
        stack.callback(first.leave)
        Polls(first).until_shared(PARTITIONS)
        second = client.join(membership)
        stack.callback(second.leave)

        both = Polls(first, second)
        both.until_shared(2, 2)

        assert all(len(each) >= PARTITIONS // 2 for each in both.history[0])


def _groups(client: Client, place: Place) -> None:
    place.create()
    question: dict[str, Json] = {"group": place.topic, "topic": place.topic}
    classic: dict[str, Json] = {"protocol": "classic", "assignor": "range", "instance": None}
    member = place.ask("member_join", **question, **classic)
    assert member is not None
    while not cast("dict[str, Json]", place.ask("member_poll", member=member))["assigned"]:
        pass

    assert place.topic in client.list_groups()
    assert client.describe_group(place.topic) == ("stable", 1)
    place.ask("member_leave", member=member)
    assert client.describe_group(place.topic) == ("empty", 0)
    client.delete_group(place.topic)
    assert place.topic not in client.list_groups()
    with pytest.raises(RefusedError) as refused:
        client.delete_group(place.topic)
    assert refused.value.code == GROUP_ID_NOT_FOUND


def _offsets(client: Client, place: Place) -> None:
    place.create()
    place.fill(10)
    place.ask("set_group_offset", group=place.topic, topic=place.topic, offset=4)

    assert client.group_offsets(place.topic, place.topic) == {0: 4}
    client.set_group_offset(place.topic, place.topic, 7)
    assert committed(place, place.topic) == {f"{place.topic}-0": 7}


def _offsets_deleted(client: Client, place: Place) -> None:
    place.create()
    place.ask("set_group_offset", group=place.topic, topic=place.topic, offset=4)

    client.delete_group_offset(place.topic, place.topic)

    soon(lambda: committed(place, place.topic), {})


GROUP_FEATURES: Final = (
    Feature(title="subscribe as a member of a group", check=_subscribe),
    Feature(title="committed offsets, resumed after a restart", check=_resume),
    Feature(title="members share partitions, and take over", check=_share("classic")),
    Feature(title="the same with the new protocol (KIP-848)", check=_share("consumer")),
    Feature(title="cooperative rebalancing", check=_cooperate),
    Feature(title="a static member returns", check=_static("classic")),
    Feature(title="a static member of the new protocol returns", check=_static("consumer")),
    Feature(title="groups listed, described, deleted", check=_groups),
    Feature(title="offsets of a group shown and changed", check=_offsets),
    Feature(title="offsets of a group deleted", check=_offsets_deleted),
)
