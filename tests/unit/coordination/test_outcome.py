"""An outcome gathers what one event leads to."""

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.outcome import (
    Answer,
    CoordinatorEvent,
    EventCount,
    Outcome,
    Ticket,
    TimerChange,
    TransactionalProducer,
    counted,
)
from cordwood.core.errors import NotEnoughReplicasError
from cordwood.protocol.messages.heartbeat import HeartbeatResponse
from cordwood.protocol.messages.internal import GroupMetadataKey

RESPONSE = HeartbeatResponse(error_code=0)
RECORD = CoordinatorRecord(2, GroupMetadataKey(group="g"), None)


def test_answer_changes_nothing() -> None:
    outcome = Outcome.answer(Ticket(1), RESPONSE)

    assert outcome.answers == [Answer(Ticket(1), RESPONSE)]
    assert not outcome.records
    assert not outcome.timers


def test_later_outcome_is_added_in_order() -> None:
    outcome = Outcome.answer(Ticket(1), RESPONSE)
    later = Outcome.answer(Ticket(2), RESPONSE)
    later.records.append(RECORD)
    later.timers.append(TimerChange(("session", "g", "m"), 10))

    outcome.add(later)

    assert [each.ticket for each in outcome.answers] == [1, 2]
    assert outcome.records == [RECORD]
    assert outcome.timers == [TimerChange(("session", "g", "m"), 10)]


def test_failures_of_both_outcomes_are_followed() -> None:
    outcome, later = Outcome(records=[RECORD]), Outcome(records=[RECORD])
    outcome.on_failure = lambda error, _: Outcome.answer(Ticket(1), error)
    later.on_failure = lambda error, _: Outcome.answer(Ticket(2), error)
    error = NotEnoughReplicasError()

    outcome.add(later)
    assert outcome.on_failure is not None
    follow = outcome.on_failure(error, 5)

    assert follow.answers == [Answer(Ticket(1), error), Answer(Ticket(2), error)]


def test_events_of_both_outcomes_are_counted() -> None:
    rebalance = EventCount(CoordinatorEvent.CLASSIC_REBALANCE)
    outcome = Outcome(events=counted(CoordinatorEvent.OFFSETS_COMMITTED, [RECORD, RECORD]))

    outcome.add(Outcome(events=(rebalance,)))

    assert outcome.events == (EventCount(CoordinatorEvent.OFFSETS_COMMITTED, 2), rebalance)
    assert counted(CoordinatorEvent.OFFSETS_COMMITTED, []) == ()


def test_whole_outcome_has_the_rest_and_its_rest() -> None:
    inner = Outcome(records=[RECORD], rest=lambda: Outcome.answer(Ticket(2), RESPONSE))
    outcome = Outcome.answer(Ticket(1), RESPONSE)
    outcome.rest = lambda: inner

    whole = outcome.completed()

    assert whole is outcome
    assert (whole.records, [each.ticket for each in whole.answers]) == ([RECORD], [1, 2])
    assert whole.rest is None


def test_rest_of_a_later_outcome_is_kept_and_so_is_its_producer() -> None:
    outcome, producer = Outcome(), TransactionalProducer(7, 0)

    outcome.add(Outcome(rest=lambda: Outcome(records=[RECORD], producer=producer)))

    assert outcome.completed().records == [RECORD]
    assert outcome.producer == producer
