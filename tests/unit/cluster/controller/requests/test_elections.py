"""Requested elections; `tests/scripts/controller/preferred_leaders.txt` shows their effects."""

from dataclasses import replace

import pytest

from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    PartitionLifecycle,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.requests.elections import (
    elect_leaders,
    elect_requested_leaders,
    rebalance_leaders,
    unclean_elections_enabled,
)
from cordwood.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    Performed,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import StoreModel, partition

PREFERRED, UNCLEAN = 0, 1


def _moved(leader: int = 2, isr: tuple[int, ...] = (2, 1)) -> Leadership:
    return Leadership(leader, 0, isr, controller_epoch=7)


def _results(
    context: ClusterContext,
    names: tuple[str, ...] | None = ("orders-0",),
    election_type: int = PREFERRED,
    store: StoreModel | None = None,
) -> dict[str, int]:
    request = ElectLeadersRequest(
        election_type=election_type,
        topic_partitions=None
        if names is None
        else [
            TopicPartitions(topic=each.topic, partitions=[each.partition])
            for each in map(partition, names)
        ],
    )
    (response,) = Performed(context, elect_leaders(context, request), store).responses
    assert isinstance(response, ElectLeadersResponse)
    return {
        f"{topic.topic}-{each.partition_id}": each.error_code
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


def test_preferred_leader_is_elected() -> None:
    context = cluster_context(leaderships={ORDERS_0: _moved()})

    assert _results(context) == {"orders-0": 0}
    assert context.leaderships[ORDERS_0].leader == 1


@pytest.mark.parametrize(
    ("expected", "led", "name"),
    (
        (3, _moved(), "orders-9"),
        (84, _moved(leader=1), "orders-0"),
        (80, _moved(isr=(2,)), "orders-0"),
    ),
)
def test_errors_of_a_preferred_election(expected: int, led: Leadership, name: str) -> None:
    assert _results(cluster_context(leaderships={ORDERS_0: led}), (name,)) == {name: expected}


def test_topic_being_deleted_has_no_election() -> None:
    context = cluster_context(leaderships={ORDERS_0: _moved()})
    context.deletions.queued.add("orders")

    assert _results(context) == {"orders-0": 17}


def test_request_for_all_partitions_leaves_out_those_without_need() -> None:
    context = cluster_context(assignments=((1, 2), (2, 1)), leaderships={ORDERS_0: _moved()})

    assert _results(context, None) == {"orders-0": 0}


def test_unclean_leader_is_elected_without_regard_to_the_setting() -> None:
    led = Leadership(-1, 3, (1,))
    context = cluster_context((2, 3), leaderships={ORDERS_0: led})

    assert _results(context, election_type=UNCLEAN, store=_allowing(context)) == {"orders-0": 0}
    assert context.leaderships[ORDERS_0][:4] == (2, 4, (2,), True)


def test_unclean_election_is_not_needed_with_a_live_leader_and_not_possible_without_replicas() -> (
    None
):
    assert _results(cluster_context(), election_type=UNCLEAN) == {"orders-0": 84}
    assert _results(cluster_context((4,)), election_type=UNCLEAN) == {"orders-0": 83}


def test_partition_that_was_never_led_is_created_by_an_election() -> None:
    context = cluster_context()
    context.leaderships.clear()
    context.partition_states[ORDERS_0] = PartitionLifecycle.NEW

    assert _results(context) == {"orders-0": 0}
    assert context.leaderships[ORDERS_0].leader == 1


def test_requested_elections_are_done_and_removed() -> None:
    context = cluster_context(leaderships={ORDERS_0: _moved()})
    store = store_of(context)
    store.elections = [ORDERS_0, partition("orders-9")]

    done = Performed(context, elect_requested_leaders(context), store)
    again = Performed(context, elect_requested_leaders(context), store)

    assert context.leaderships[ORDERS_0].leader == 1
    assert done.lines[-1] == "drop requested elections"
    assert again.lines == []


@pytest.mark.parametrize(("percentage", "leader"), ((49, 1), (50, 2)))
def test_rebalance_moves_leaders_if_more_than_the_percentage_are_elsewhere(
    percentage: int, leader: int
) -> None:
    context = cluster_context(assignments=((1, 2), (1, 2)), leaderships={ORDERS_0: _moved()})
    context.settings = replace(context.settings, leader_imbalance_percentage=percentage)

    Performed(context, rebalance_leaders(context))

    assert context.leaderships[ORDERS_0].leader == leader


def test_rebalance_leaves_replicas_that_cannot_lead_and_topics_being_deleted() -> None:
    context = cluster_context(
        assignments=((1, 2), (1, 2)), leaderships={ORDERS_0: _moved(isr=(2,))}
    )
    del context.leaderships[partition("orders-1")]
    assert Performed(context, rebalance_leaders(context)).lines == []

    context.leaderships[ORDERS_0] = _moved()
    context.deletions.queued.add("orders")
    assert Performed(context, rebalance_leaders(context)).lines == []


def test_enabled_unclean_elections_bring_partitions_online() -> None:
    context = cluster_context((2,), leaderships={ORDERS_0: Leadership(-1, 3, (1,))})
    context.partition_states[ORDERS_0] = PartitionLifecycle.OFFLINE

    Performed(context, unclean_elections_enabled(context), _allowing(context))

    assert context.leaderships[ORDERS_0].leader == 2


def _allowing(context: ClusterContext) -> StoreModel:
    store = store_of(context)
    store.unclean.add("orders")
    return store
