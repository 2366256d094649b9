"""Updates of leaderships: conflicts are read and decided again."""

from collections.abc import Sequence

import pytest

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.effects import Flow
from cordwood.cluster.controller.leadership_updates import (
    Leaderships,
    refresh_leaderships,
    report_failures,
    report_unelected,
    update_leaderships,
)
from cordwood.core.errors import StaleControllerEpochError, UnknownTopicOrPartitionError
from cordwood.core.types import TopicPartition
from tests.unit.cluster.controller.controller_samples import (
    ORDERS_0,
    Performed,
    cluster_context,
    store_of,
)


def _next_epochs(context: ClusterContext) -> Flow[Leaderships]:
    def decide(remaining: Sequence[TopicPartition]) -> Flow[Leaderships]:
        yield from ()
        return {
            each: found.next_epoch(leader=found.leader, isr=found.isr)
            for each in remaining
            if (found := context.leaderships.get(each)) is not None
        }

    return update_leaderships(context, (ORDERS_0,), decide=decide)


def test_update_is_written_from_memory_and_kept() -> None:
    context = cluster_context()

    done = Performed(context, _next_epochs(context))

    assert done.lines == ["write orders-0: leader 1, epoch 1, isr 1,2,3, if at 0"]
    assert context.leaderships == done.store.leaderships
    assert context.leaderships[ORDERS_0].controller_epoch == 7


def test_conflict_is_read_and_decided_again() -> None:
    context = cluster_context()
    store = store_of(context)
    store.write_as_leader(ORDERS_0, (1, 2))

    done = Performed(context, _next_epochs(context), store)

    assert done.lines == [
        "write orders-0: leader 1, epoch 1, isr 1,2,3, if at 0",
        "read orders-0",
        "write orders-0: leader 1, epoch 1, isr 1,2, if at 1",
    ]
    assert context.leaderships == store.leaderships


def test_unknown_leadership_is_read_first() -> None:
    context = cluster_context()
    store = store_of(context)
    context.leaderships.clear()

    done = Performed(context, _next_epochs(context), store)

    assert done.lines[0] == "read orders-0"
    assert context.leaderships == store.leaderships


def test_leadership_that_is_gone_is_reported_and_not_written() -> None:
    context = cluster_context()
    store = store_of(context)
    store.leaderships.clear()

    done = Performed(context, _next_epochs(context), store)

    assert done.result == {}
    assert done.lines[1:] == ["not done: orders-0 to stored: orders-0 is gone"]


def test_partition_without_a_leadership_has_no_update() -> None:
    context = cluster_context()
    context.leaderships.clear()

    done = Performed(context, _next_epochs(context), store_of(context))

    assert done.result == {}
    assert done.lines == ["read orders-0"]


def test_leadership_of_a_later_controller_ends_the_flow() -> None:
    context = cluster_context()
    store = store_of(context)
    store.leaderships[ORDERS_0] = Leadership(2, 9, (2,), controller_epoch=8)

    with pytest.raises(StaleControllerEpochError):
        Performed(context, refresh_leaderships(context, (ORDERS_0,)), store)


def test_refresh_forgets_leaderships_that_are_gone() -> None:
    context = cluster_context()
    store = store_of(context)
    store.leaderships.clear()

    Performed(context, refresh_leaderships(context, (ORDERS_0,)), store)

    assert context.leaderships == {}


def test_no_report_is_made_of_no_failure() -> None:
    context = cluster_context()

    assert Performed(context, report_failures({}, to="online")).lines == []
    assert Performed(context, report_unelected((), to="online", reason="")).lines == []


def test_failures_are_reported_with_their_errors() -> None:
    context = cluster_context()
    failed = {ORDERS_0: UnknownTopicOrPartitionError("it is gone")}

    done = Performed(context, report_failures(failed, to="online"))

    assert done.lines == ["not done: orders-0 to online: it is gone"]
