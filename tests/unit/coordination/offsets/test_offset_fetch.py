"""OffsetFetch in all its versions."""

import pytest

from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from tests.unit.coordination.offset_samples import (
    ORDERS_ID,
    UNKNOWN_ID,
    OffsetsUnderTest,
    commit_request,
    txn_request,
)


def with_offsets() -> OffsetsUnderTest:
    """Return offsets of `orders` 0 and `payments` 1."""
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5), ("payments", 1, 6), metadata="text"))
    return offsets


def test_partition_without_an_offset_has_minus_one() -> None:
    assert with_offsets().fetch(("orders", 0), ("orders", 1)) == {
        ("orders", 0): (5, 0),
        ("orders", 1): (-1, 0),
    }


def test_null_topics_are_all_of_them() -> None:
    assert with_offsets().fetch() == {("orders", 0): (5, 0), ("payments", 1): (6, 0)}


def test_group_that_is_missing_has_no_offsets() -> None:
    offsets = OffsetsUnderTest()

    assert offsets.fetch() == {}
    assert offsets.fetch(("orders", 0)) == {("orders", 0): (-1, 0)}


@pytest.mark.parametrize("version", (1, 2, 7))
def test_single_group_is_fetched_before_version_8(version: int) -> None:
    topics = [OffsetFetchRequestTopic(name="orders", partition_indexes=[0])]
    request = OffsetFetchRequest(group_id="g", topics=topics)

    response = with_offsets().manager.fetch(request, version)

    ((partition,),) = (each.partitions for each in response.topics)
    assert (partition.committed_offset, partition.metadata) == (5, "text")
    assert (response.error_code, response.groups) == (0, [])


def test_groups_are_fetched_together_from_version_8_on() -> None:
    groups = [OffsetFetchRequestGroup(group_id=each, topics=None) for each in ("g", "other")]

    response = with_offsets().manager.fetch(OffsetFetchRequest(groups=groups), 8)

    assert [(each.group_id, len(each.topics)) for each in response.groups] == [
        ("g", 2),
        ("other", 0),
    ]


def test_topics_by_id_have_unknown_ids_at_the_end() -> None:
    offsets = with_offsets()

    found = offsets.fetch(("missing", 0), ("orders", 0), version=10)

    assert list(found.items()) == [(("orders", 0), (5, 0)), (("missing", 0), (-1, 100))]


def test_offset_of_an_earlier_topic_is_not_found_by_the_new_id() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5)))
    offsets.manager.on_topics(Topics((TopicFacts("orders", UNKNOWN_ID, 4),)), 0)
    topics = [OffsetFetchRequestTopic(topic_id=UNKNOWN_ID, partition_indexes=[0])]
    group = OffsetFetchRequestGroup(group_id="g", topics=topics)

    response = offsets.manager.fetch(OffsetFetchRequest(groups=[group]), 10)

    assert response.groups[0].topics[0].partitions[0].committed_offset == -1


def test_all_topics_by_id_are_those_that_exist() -> None:
    offsets = with_offsets()
    offsets.manager.on_topics(Topics((TopicFacts("orders", ORDERS_ID, 4),)), 0)

    assert offsets.fetch(version=10) == {("orders", 0): (5, 0)}
    assert offsets.fetch(version=9) == {("orders", 0): (5, 0), ("payments", 1): (6, 0)}


def test_part_of_all_topics_has_the_results_that_the_whole_has() -> None:
    offsets = with_offsets()
    manager = offsets.manager
    manager.on_topics(Topics((TopicFacts("orders", UNKNOWN_ID, 4),)), 0)
    parts = [
        OffsetFetchRequestTopic(name=name, partition_indexes=numbers)
        for name, numbers in {**manager.committed_partitions("g"), "orders": [0, 3]}.items()
    ]

    for version in (7, 9, 10):
        whole, part = (
            OffsetFetchRequest(
                group_id="g",
                topics=topics,
                groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)],
            )
            for topics in (None, parts)
        )

        assert manager.fetch(part, version, is_part_of_all=True) == manager.fetch(whole, version)


def test_pending_offset_is_unstable_if_the_fetch_requires_stable_ones() -> None:
    offsets = with_offsets()
    offsets.commit_transactional(txn_request(("orders", 0, 9)))

    assert offsets.fetch(("orders", 0), is_stable=True) == {("orders", 0): (-1, 88)}
    assert offsets.fetch(is_stable=True)["orders", 0] == (-1, 88)
    assert offsets.fetch(("orders", 0)) == {("orders", 0): (5, 0)}
    assert offsets.fetch(("payments", 1), is_stable=True) == {("payments", 1): (6, 0)}


def test_first_offset_that_is_pending_is_unstable_too() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit_transactional(txn_request(("orders", 0, 9)))

    assert offsets.fetch(("orders", 0), is_stable=True) == {("orders", 0): (-1, 88)}
    offsets.end(7, is_commit=True)
    assert offsets.fetch(("orders", 0), is_stable=True) == {("orders", 0): (9, 0)}
