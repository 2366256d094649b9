"""An abort leaves a decided batch alone."""

from dataclasses import replace

from cordwood.spark.sink.exactly_once.batch_abort import abort_batch
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord
from tests.unit.spark.sink.exactly_once.scripted_brokers import (
    ScriptedBrokers,
    outcome_of,
    prepared_with,
    record_of,
)

TWO = (outcome_of(0), outcome_of(1))


def aborted(record: IntentRecord | None, *open_ids: str) -> tuple[bool, list[str]]:
    brokers = ScriptedBrokers(record, open_ids=dict.fromkeys(open_ids, 1), driver_epoch=6)
    is_aborted = brokers.run(abort_batch(prepared_with(record), batch=5, outcomes=TWO))
    return is_aborted, brokers.ended(commit=False)


def test_transactions_of_an_undecided_batch_are_aborted() -> None:
    assert aborted(record_of(4)) == (True, ["s-driver", "s-40.2-10", "s-40.2-11"])


def test_transactions_of_a_decided_batch_stay() -> None:
    assert aborted(record_of(5)) == (False, ["s-driver"])


def test_write_without_a_record_is_aborted() -> None:
    brokers, prepared = ScriptedBrokers(), prepared_with(None)
    prepared = replace(prepared, plan=replace(prepared.plan, has_record=False))

    assert brokers.run(abort_batch(prepared, batch=5, outcomes=TWO))
    assert brokers.ended(commit=False) == ["s-40.2-10", "s-40.2-11"]


def test_withdrawn_batch_is_not_decided() -> None:
    assert aborted(record_of(5, is_withdrawn=True))[0]


def test_transactions_of_tasks_without_a_message_are_aborted() -> None:
    assert aborted(None, "s-40.2-99", "s-41.0-1")[1][-2:] == ["s-40.2-99", "s-41.0-1"]
