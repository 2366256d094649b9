"""States of partitions: every transition, valid and not, and its effects."""

from itertools import product

import pytest

from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    PartitionLifecycle,
)
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.leader_election import ElectionStrategy
from cordwood.cluster.controller.partition_state_machine import (
    change_partition_states,
    elect_missing_leaders,
    start_partition_states,
)
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    Performed,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import partition

NEW = PartitionLifecycle.NEW
ONLINE = PartitionLifecycle.ONLINE
OFFLINE = PartitionLifecycle.OFFLINE
NON_EXISTENT = PartitionLifecycle.NON_EXISTENT
ORDERS_1 = partition("orders-1")
VALID = {
    (NON_EXISTENT, NEW),
    (NEW, ONLINE),
    (ONLINE, ONLINE),
    (OFFLINE, ONLINE),
    (NEW, OFFLINE),
    (ONLINE, OFFLINE),
    (OFFLINE, OFFLINE),
    (OFFLINE, NON_EXISTENT),
}


def _context_in(state: PartitionLifecycle) -> ClusterContext:
    context = cluster_context()
    context.partition_states[ORDERS_0] = state
    if state in {NEW, NON_EXISTENT}:
        context.leaderships.clear()
    return context


@pytest.mark.parametrize(("before", "after"), tuple(product(PartitionLifecycle, repeat=2)))
def test_only_valid_transitions_are_made(
    before: PartitionLifecycle, after: PartitionLifecycle
) -> None:
    context = _context_in(before)

    done = Performed(context, change_partition_states(context, (ORDERS_0,), to=after))

    if (before, after) in VALID:
        assert context.partition_state(ORDERS_0) is after
        assert not any(each.startswith("not done") for each in done.lines)
    else:
        assert context.partition_state(ORDERS_0) is before
        assert done.lines == [f"not done: orders-0 to {after.value}: it is {before.value}"]


def test_new_partition_is_led_by_its_first_online_replica() -> None:
    context = cluster_context((2, 3))
    context.leaderships.clear()
    context.partition_states[ORDERS_0] = NEW

    done = Performed(context, change_partition_states(context, (ORDERS_0,), to=ONLINE))

    assert done.result == {ORDERS_0: Leadership(2, 0, (2, 3), controller_epoch=7)}
    assert done.lines == [
        "create orders-0: leader 2, epoch 0, isr 2,3",
        "LeaderAndIsr to 2,3",
        "  orders-0: leader 2, epoch 0, isr 2,3 of 1,2,3, new",
        "UpdateMetadata of brokers 2,3 to 2,3",
        "  orders-0: leader 2, epoch 0, offline 1",
    ]


def test_new_partition_without_an_online_replica_stays_new() -> None:
    context = cluster_context((4,))
    context.leaderships.clear()
    context.partition_states[ORDERS_0] = NEW

    done = Performed(context, change_partition_states(context, (ORDERS_0,), to=ONLINE))

    assert done.result == {}
    assert done.lines == ["not done: orders-0 to online: no replica is online"]
    assert context.partition_state(ORDERS_0) is NEW


@pytest.mark.parametrize(("leader", "state"), ((2, ONLINE), (9, OFFLINE)))
def test_new_partition_whose_leadership_was_stored_already_gets_an_election(
    leader: int, state: PartitionLifecycle
) -> None:
    context = cluster_context()
    store = store_of(context)
    store.leaderships[ORDERS_0] = Leadership(leader, 3, (leader,), partition_epoch=5)
    context.leaderships.clear()
    context.partition_states[ORDERS_0] = NEW

    done = Performed(context, change_partition_states(context, (ORDERS_0,), to=ONLINE), store)

    assert "read orders-0" in done.lines
    assert context.partition_state(ORDERS_0) is state
    assert context.leaderships == store.leaderships


def test_offline_partition_is_led_again_in_the_next_epoch() -> None:
    context = cluster_context((2, 3), leaderships={ORDERS_0: Leadership(-1, 4, (3,))})
    context.partition_states[ORDERS_0] = OFFLINE

    done = Performed(context, change_partition_states(context, (ORDERS_0,), to=ONLINE))

    assert done.lines[0] == "write orders-0: leader 3, epoch 5, isr 3, if at 0"
    assert context.partition_state(ORDERS_0) is ONLINE


@pytest.mark.parametrize("is_allowed", (False, True))
def test_setting_of_the_topic_decides_on_an_unclean_leader(*, is_allowed: bool) -> None:
    context = cluster_context((2, 3), leaderships={ORDERS_0: Leadership(-1, 4, (1,))})
    context.partition_states[ORDERS_0] = OFFLINE
    store = store_of(context)
    store.unclean |= {"orders"} if is_allowed else set()

    done = Performed(context, change_partition_states(context, (ORDERS_0,), to=ONLINE), store)

    assert done.lines[0] == "read unclean elections of orders"
    assert context.leaderships[ORDERS_0].is_recovering is is_allowed
    assert context.partition_state(ORDERS_0) is (ONLINE if is_allowed else OFFLINE)


def test_failed_election_keeps_the_state() -> None:
    context = cluster_context((2, 3))

    done = Performed(
        context,
        change_partition_states(
            context, (ORDERS_0,), to=ONLINE, strategy=ElectionStrategy.PREFERRED
        ),
    )

    assert done.lines == [
        "read orders-0",
        "not done: orders-0 to online: no replica is eligible (preferred election)",
    ]
    assert context.partition_state(ORDERS_0) is ONLINE


def test_missing_leaders_are_elected_except_for_topics_being_deleted() -> None:
    context = cluster_context(assignments=((1, 2), (2, 1)))
    context.partition_states.update({ORDERS_0: OFFLINE, ORDERS_1: ONLINE})

    assert Performed(context, elect_missing_leaders(context, "returns")).result == {}
    elected = Performed(context, elect_missing_leaders(context, "orders")).result
    assert isinstance(elected, dict)
    assert [*elected] == [ORDERS_0]

    context.partition_states[ORDERS_0] = OFFLINE
    context.deletions.queued.add("orders")
    assert Performed(context, elect_missing_leaders(context)).result == {}


def test_start_derives_the_states_and_elects_leaders() -> None:
    context = cluster_context((2, 3), ((1, 2), (2, 1), (3,)))
    del context.leaderships[partition("orders-2")]
    store = store_of(context)

    done = Performed(context, start_partition_states(context), store)

    assert done.lines[:2] == [
        "create orders-2: leader 3, epoch 0, isr 3",
        "write orders-0: leader 2, epoch 1, isr 2, if at 0",
    ]
    assert {*context.partition_states.values()} == {ONLINE}


def test_partition_whose_leadership_is_gone_is_reported() -> None:
    context = cluster_context()
    store = store_of(context)
    store.leaderships.clear()
    context.leaderships.clear()

    done = Performed(context, change_partition_states(context, (ORDERS_0,), to=ONLINE), store)

    assert done.lines == [
        "read orders-0",
        "not done: orders-0 to online: no replica is eligible (offline election)",
    ]


def test_election_that_fails_by_what_is_in_memory_reads_again() -> None:
    context = cluster_context((2, 3), leaderships={ORDERS_0: Leadership(1, 4, (1,))})
    store = store_of(context)
    store.write_as_leader(ORDERS_0, (1, 3))

    done = Performed(context, change_partition_states(context, (ORDERS_0,), to=ONLINE), store)

    assert done.lines[:3] == [
        "read unclean elections of orders",
        "read orders-0",
        "write orders-0: leader 3, epoch 5, isr 3, if at 1",
    ]
