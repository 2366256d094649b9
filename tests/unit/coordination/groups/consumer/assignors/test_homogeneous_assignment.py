"""The uniform assignment of equal subscriptions gives the results of Kafka 4.3."""

from collections.abc import Iterable, Iterator, Mapping

import pytest

from cordwood.coordination.groups.consumer.assignors.group_spec import (
    GroupSpec,
    MemberSpec,
    PartitionAssignorError,
)
from cordwood.coordination.groups.consumer.assignors.homogeneous_assignment import (
    assign_homogeneous,
)
from cordwood.core.uuids import Uuid
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import (
    parsed,
    spec,
    topic_id,
)


@pytest.mark.parametrize(
    ("members", "partitions", "before", "expected"),
    (
        pytest.param("AB", (3, 2), "", "A 1:0,1; B 1:2 2:0,1", id="U1"),
        pytest.param("ABC", (6, 3), "", "A 1:0-2; B 1:3-5; C 2:0-2", id="U2"),
        pytest.param(
            "ABC",
            (6, 3),
            "A 1:0-2 2:0; B 1:3-5 2:1,2",
            "A 1:0-2; B 1:3-5; C 2:0-2",
            id="U3",
        ),
        pytest.param("ABC", (2,), "", "A -; B 1:0; C 1:1", id="U4"),
        pytest.param("AB", (5,), "A 1:0,2; B 1:1", "A 1:0,2; B 1:1,3,4", id="U5"),
        pytest.param("AB", (6,), "A 1:0,1; B 1:2,3", "A 1:0,1,4; B 1:2,3,5", id="U6"),
        pytest.param("ABC", (6,), "A 1:0-2; B 1:3-5", "A 1:0,1; B 1:3,4; C 1:2,5", id="U7"),
        pytest.param("ABC", (4,), "A 1:0,1; B 1:2,3", "A 1:0,1; B 1:2; C 1:3", id="U8"),
        pytest.param("ABC", (4,), "A 1:0; B 1:1; C 1:2,3", "A 1:0; B 1:1; C 1:2,3", id="U9"),
        pytest.param("AB", (3,), "A 1:0,1 2:0; B 1:2 2:1", "A 1:0,1; B 1:2", id="U10"),
    ),
)
def test_partitions_stay_up_to_the_quota(
    members: str, partitions: tuple[int, ...], before: str, expected: str
) -> None:
    group = spec(members, partitions, before=before)

    assert assign_homogeneous(group) == parsed(expected)


def test_partitions_that_do_not_exist_are_dropped() -> None:
    group = spec("AB", (2,), before="A 1:0,1,7; B 1:8")

    assert assign_homogeneous(group) == parsed("A 1:0; B 1:1")


def test_members_without_topics_have_no_partitions() -> None:
    assert assign_homogeneous(spec({"A": (), "B": ()}, ())) == {}


def test_assignment_fails_when_a_partition_is_left() -> None:
    # Two members hold one partition, so that the quotas are full with a partition left.
    member = MemberSpec(frozenset([topic_id(1)]), parsed("A 1:0")["A"])
    group = GroupSpec(
        members={"A": member, "B": member}, partitions={topic_id(1): 2}, is_homogeneous=True
    )

    with pytest.raises(PartitionAssignorError):
        assign_homogeneous(group)


class CountedPartitions(Mapping[Uuid, frozenset[int]]):
    """The partitions of a member, which count how often one of their topics is looked up."""

    lookups = 0

    def __init__(self, topics: Iterable[Uuid]) -> None:
        self._partitions = dict.fromkeys(topics, frozenset({0}))

    def __getitem__(self, topic: Uuid) -> frozenset[int]:
        CountedPartitions.lookups += 1
        return self._partitions[topic]

    def __iter__(self) -> Iterator[Uuid]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)


def test_work_grows_with_the_partitions_and_not_with_members_times_topics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1,000 members of 10,000 topics took ten million steps."""
    monkeypatch.setattr(CountedPartitions, "lookups", 0)
    topics, members = [topic_id(number) for number in range(1, 101)], 20
    owned = {f"m-{n}": topics[n * 5 : n * 5 + 5] for n in range(members)}
    group = GroupSpec(
        members={
            name: MemberSpec(frozenset(topics), CountedPartitions(own))
            for name, own in owned.items()
        },
        partitions=dict.fromkeys(topics, 1),
        is_homogeneous=True,
    )

    targets = assign_homogeneous(group)

    assert {name: {*each} for name, each in targets.items()} == {
        name: {*each} for name, each in owned.items()
    }
    assert CountedPartitions.lookups <= 3 * len(topics)
