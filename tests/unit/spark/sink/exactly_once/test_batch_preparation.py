"""A preparation fences, finishes the last decision, and aborts orphans."""

from dataclasses import replace

import pytest

from cordwood.core.errors import SparkError
from cordwood.spark.sink.exactly_once.batch_preparation import DriverMemory, prepare_batch
from cordwood.spark.sink.exactly_once.intent_record import SlotRecord
from cordwood.spark.sink.exactly_once.sink_names import Incarnation
from cordwood.spark.sink.exactly_once.sink_requests import EndResult, ListOpen
from cordwood.spark.sink.sink_options import OnMissingRecord
from tests.unit.spark.sink.exactly_once.scripted_brokers import (
    PLAN,
    ScriptedBrokers,
    prepared_with,
    record_of,
    slot_of,
)

DECIDED = record_of(4, slot_of(0), slot_of(1))
BOTH = ["s-40.2-10", "s-40.2-11"]


def test_first_batch_has_no_record() -> None:
    prepared = ScriptedBrokers().run(prepare_batch(PLAN, DriverMemory()))

    assert prepared.record is None
    assert prepared.incarnation == Incarnation(40, 5)


def test_transactions_of_the_last_decision_are_committed() -> None:
    brokers = ScriptedBrokers(DECIDED)

    prepared = brokers.run(prepare_batch(PLAN, DriverMemory()))

    assert brokers.ended(commit=True) == BOTH
    assert prepared.record == DECIDED


def test_decision_is_finished_once_in_a_process() -> None:
    brokers, memory = ScriptedBrokers(DECIDED), DriverMemory()
    brokers.run(prepare_batch(PLAN, memory))

    brokers.run(prepare_batch(PLAN, memory))

    assert brokers.ended(commit=True) == BOTH


def test_decision_is_withdrawn_if_all_transactions_are_lost() -> None:
    brokers = ScriptedBrokers(DECIDED, ends=dict.fromkeys(BOTH, EndResult.FENCED))

    prepared = brokers.run(prepare_batch(PLAN, DriverMemory()))

    assert prepared.record == brokers.record == record_of(4, is_withdrawn=True)


def test_visible_slots_stay_in_a_withdrawn_record() -> None:
    brokers = ScriptedBrokers(DECIDED, ends={BOTH[0]: EndResult.INVALID_STATE})

    prepared = brokers.run(prepare_batch(PLAN, DriverMemory()))

    assert prepared.record == record_of(4, slot_of(1, is_visible=True), is_withdrawn=True)


def test_slot_that_was_visible_before_stays_visible() -> None:
    """Its id number is that of another incarnation."""
    older = slot_of(0, is_visible=True)._replace(number=11)
    brokers = ScriptedBrokers(record_of(4, older, slot_of(1)), ends={BOTH[1]: EndResult.FENCED})

    prepared = brokers.run(prepare_batch(PLAN, DriverMemory()))

    assert prepared.record == record_of(4, older, is_withdrawn=True)


def test_record_with_unknown_outcomes_stays_and_names_their_slots() -> None:
    brokers = ScriptedBrokers(DECIDED, ends={BOTH[0]: EndResult.UNKNOWN_ID})

    prepared = brokers.run(prepare_batch(PLAN, DriverMemory()))

    assert prepared.record == brokers.record == DECIDED
    assert prepared.unknown == {0}


@pytest.mark.parametrize(
    ("policy", "visible"),
    (
        (OnMissingRecord.ASSUME_DONE, [slot_of(0, is_visible=True)]),
        (OnMissingRecord.REPLAY, []),
    ),
)
def test_unknown_slots_beside_lost_ones_are_visible_as_the_option_says(
    policy: OnMissingRecord, visible: list[SlotRecord]
) -> None:
    ends = dict(zip(BOTH, (EndResult.UNKNOWN_ID, EndResult.FENCED), strict=True))
    brokers = ScriptedBrokers(DECIDED, ends=ends)

    prepared = brokers.run(prepare_batch(replace(PLAN, on_missing=policy), DriverMemory()))

    assert prepared.record == brokers.record == record_of(4, *visible, is_withdrawn=True)
    assert prepared.unknown == frozenset()


def test_replay_keeps_the_slots_that_are_known_to_be_visible() -> None:
    prepared = replace(prepared_with(DECIDED, OnMissingRecord.REPLAY), unknown=frozenset({0}))

    assert prepared.visible() == {1: slot_of(1, is_visible=True)}


def test_orphans_are_searched_again_while_an_outcome_is_unknown() -> None:
    brokers, memory = ScriptedBrokers(DECIDED, ends={BOTH[0]: EndResult.UNKNOWN_ID}), DriverMemory()

    for _ in range(2):
        brokers.run(prepare_batch(PLAN, memory))

    assert brokers.requests.count(ListOpen()) == 2


def test_orphans_are_aborted_at_the_start() -> None:
    brokers = ScriptedBrokers(open_ids={"s-9.9-1": 3, "other-9.9-1": 4, "s-driver-x": 5})

    prepared = brokers.run(prepare_batch(PLAN, DriverMemory()))

    assert brokers.ended(commit=False) == ["s-9.9-1"]
    assert prepared.aborted == 1


def test_orphans_are_searched_again_after_a_batch_without_a_decision() -> None:
    brokers, memory = ScriptedBrokers(open_ids={"s-9.9-1": 3}), DriverMemory()
    brokers.run(prepare_batch(PLAN, memory))
    brokers.run(prepare_batch(PLAN, memory))

    brokers.record = DECIDED
    brokers.run(prepare_batch(PLAN, memory))

    assert brokers.ended(commit=False) == ["s-9.9-1"] * 2


def test_driver_that_is_fenced_aborts_nothing() -> None:
    brokers = ScriptedBrokers(open_ids={"s-9.9-1": 3}, driver_epoch=6)

    with pytest.raises(SparkError, match="another driver has taken over the sink 's'"):
        brokers.run(prepare_batch(PLAN, DriverMemory()))
    assert brokers.ended(commit=False) == []
