"""Tests of the counters of groups, offsets and transactions."""

from cordwood.broker.coordinators.coordinator_events import CoordinatorEvents
from cordwood.coordination.outcome import CoordinatorEvent, EventCount
from cordwood.observability.exposition import expose
from cordwood.observability.metrics import Metrics


def test_events_have_counters_with_their_reasons() -> None:
    metrics = Metrics()
    events = CoordinatorEvents(metrics)

    events.count(EventCount(CoordinatorEvent.OFFSETS_EXPIRED, 3))
    events.count(EventCount(CoordinatorEvent.OFFSETS_EXPIRED))
    events.count(EventCount(CoordinatorEvent.TRANSACTION_ABORTED))

    assert metrics.counter("cordwood_group_offsets_deleted_total", "expired").value == 4
    assert metrics.counter("cordwood_transactions_total", "aborted").value == 1


def test_every_event_has_a_counter_from_the_start_on() -> None:
    metrics = Metrics()
    events = CoordinatorEvents(metrics)
    before = sum(line.endswith(" 0\n") for line in expose(metrics))

    for event in CoordinatorEvent:
        events.count(EventCount(event))

    assert before == len(CoordinatorEvent)
    assert not any(line.endswith(" 0\n") for line in expose(metrics))


def test_loads_are_counted_by_topic_in_seconds() -> None:
    metrics = Metrics()
    events = CoordinatorEvents(metrics)

    events.loaded("__consumer_offsets", 1500)

    assert metrics.histogram("cordwood_coordinator_load_seconds", "__consumer_offsets").sum == 1.5
