"""New topics and partitions; `tests/scripts/controller/topics.txt` shows their effects."""

import pytest

from cordwood.cluster.controller.context.cluster_context import PartitionLifecycle
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.topic_changes import (
    load_topics,
    partitions_changed,
    topics_changed,
)
from tests.unit.cluster.controller.controller_samples import (
    Performed,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import partition


def test_new_topic_gets_leaders_and_a_missing_one_is_forgotten() -> None:
    context = cluster_context()
    store = store_of(context)
    store.create("returns", (2, 1))
    del store.topics["orders"]

    Performed(context, topics_changed(context), store)

    assert context.topics == {"returns": [partition("returns-0")]}
    assert context.leaderships.keys() == {partition("returns-0")}


def test_unchanged_topics_have_no_effects() -> None:
    context = cluster_context()

    assert Performed(context, topics_changed(context)).lines == []


def test_added_partition_goes_online() -> None:
    context = cluster_context()
    store = store_of(context)
    store.grow("orders", (3, 1))

    Performed(context, partitions_changed(context, "orders"), store)

    assert context.partition_state(partition("orders-1")) is PartitionLifecycle.ONLINE


def test_change_of_an_unknown_or_missing_topic_is_ignored() -> None:
    context = cluster_context()
    store = store_of(context)
    store.create("returns", (1,))
    del store.topics["orders"]

    for topic in ("returns", "orders"):
        assert Performed(context, partitions_changed(context, topic), store).lines == []


def test_partition_that_is_added_during_a_deletion_is_taken_back() -> None:
    context = cluster_context()
    context.deletions.queued.add("orders")
    store = store_of(context)
    store.grow("orders", (3, 1))

    done = Performed(context, partitions_changed(context, "orders"), store)
    again = Performed(context, partitions_changed(context, "orders"), store)

    assert done.lines == ["assign orders-0: 1,2,3"]
    assert again.lines == []


def test_loaded_topic_without_an_id_gets_one() -> None:
    context = cluster_context()
    store = store_of(context)
    store.create("returns", (1,), has_id=False)

    done = Performed(context, load_topics(context, ("returns",)), store)

    assert done.lines == ["assign ids to returns"]
    assert context.topic_ids["returns"] == store.topics["returns"].topic_id
    assert context.assignment(partition("returns-0")) == ReplicaAssignment((1,))


def test_topic_that_gets_no_id_is_loaded_without_one() -> None:
    context = cluster_context()
    store = store_of(context)
    store.create("returns", (1,), has_id=False)
    flow = load_topics(context, ("returns",))
    next(flow)
    flow.send(store.topics)

    with pytest.raises(StopIteration):
        flow.send({})

    assert "returns" not in context.topic_ids
    assert context.assignment(partition("returns-0")) == ReplicaAssignment((1,))
