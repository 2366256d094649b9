"""A commit decides first, and makes rows visible afterwards."""

from dataclasses import replace

import pytest

from cordwood.core.errors import SparkError
from cordwood.spark.sink.exactly_once.batch_commit import CommitMemory, commit_batch
from cordwood.spark.sink.exactly_once.batch_preparation import PreparedBatch
from cordwood.spark.sink.exactly_once.sink_requests import End, EndResult, ListOpen, WriteRecord
from cordwood.spark.sink.exactly_once.task_outcome import OutcomeKind, TaskOutcome
from cordwood.spark.sink.sink_options import OnMissingRecord
from tests.unit.spark.sink.exactly_once.scripted_brokers import (
    NAMES,
    ScriptedBrokers,
    outcome_of,
    prepared_with,
    record_of,
    slot_of,
)

TWO = (outcome_of(0), outcome_of(1))
OPEN = {"s-40.2-10": 100, "s-40.2-11": 101}
WITHDRAWN = record_of(5, slot_of(0, is_visible=True), is_withdrawn=True)


def commit(
    brokers: ScriptedBrokers,
    *outcomes: TaskOutcome,
    prepared: PreparedBatch | None = None,
    memory: CommitMemory | None = None,
) -> int:
    steps = commit_batch(
        prepared or prepared_with(record_of(4)),
        memory or CommitMemory(),
        batch=5,
        outcomes=outcomes,
    )
    return brokers.run(steps).rows


def test_batch_is_decided_before_its_transactions_are_committed() -> None:
    brokers = ScriptedBrokers(record_of(4), open_ids=OPEN)

    rows = commit(brokers, *TWO)

    kinds = [type(each) for each in brokers.requests if isinstance(each, End | WriteRecord)]
    assert kinds == [WriteRecord, End, End]
    assert brokers.ended(commit=True) == ["s-driver", *OPEN]
    assert brokers.record == record_of(5, slot_of(0), slot_of(1))
    assert rows == 6


def test_write_without_a_record_commits_its_transactions() -> None:
    brokers = ScriptedBrokers(open_ids=OPEN)
    prepared = prepared_with(None)

    commit(brokers, *TWO, prepared=replace(prepared, plan=replace(prepared.plan, has_record=False)))

    assert brokers.record is None
    assert brokers.ended(commit=True) == list(OPEN)


def test_batch_that_was_skipped_is_not_decided_again() -> None:
    done = record_of(5, slot_of(0))
    brokers = ScriptedBrokers(done)

    skipped = outcome_of(0, OutcomeKind.SKIPPED)
    assert commit(brokers, skipped, prepared=prepared_with(done)) == 0
    assert brokers.requests == []


@pytest.mark.parametrize(
    ("is_job", "expected"),
    (
        (False, "batch 5 was written with 3 rows, and now it has 6.*from the same time"),
        (True, "has written 3 rows, and this write has 6.*set jobId"),
    ),
)
def test_batch_with_more_rows_than_were_decided_is_not_skipped(is_job: bool, expected: str) -> None:  # noqa: FBT001  # a parameter of the test
    prepared = prepared_with(record_of(5, slot_of(0)))
    skipped = (outcome_of(0, OutcomeKind.SKIPPED), outcome_of(1, OutcomeKind.SKIPPED))

    with pytest.raises(SparkError, match=expected):
        commit(
            ScriptedBrokers(),
            *skipped,
            prepared=replace(prepared, plan=replace(prepared.plan, is_job=is_job)),
        )


def test_batch_that_is_assumed_to_be_done_is_recorded_with_its_rows() -> None:
    brokers = ScriptedBrokers()
    assumed = [outcome_of(slot, OutcomeKind.ASSUMED) for slot in range(2)]

    commit(brokers, *assumed, prepared=prepared_with(None))

    assert brokers.record is not None
    assert brokers.record.handles(NAMES) == []
    assert [each.rows for each in brokers.record.slots] == [6]


def test_batch_that_was_assumed_to_be_done_is_skipped_in_a_replay() -> None:
    brokers = ScriptedBrokers()
    commit(brokers, outcome_of(0, OutcomeKind.ASSUMED), prepared=prepared_with(None))

    skipped = outcome_of(0, OutcomeKind.SKIPPED)
    assert commit(brokers, skipped, prepared=prepared_with(brokers.record)) == 0


def test_tasks_that_disagree_about_a_skip_are_an_error() -> None:
    with pytest.raises(SparkError, match="some tasks have skipped"):
        commit(ScriptedBrokers(), outcome_of(0), outcome_of(1, OutcomeKind.SKIPPED))


def test_losing_attempts_are_aborted_and_winners_kept() -> None:
    brokers = ScriptedBrokers(open_ids={**OPEN, "s-40.2-77": 5, "s-40.1-12": 6})

    commit(brokers, *TWO)

    assert brokers.ended(commit=False) == ["s-40.2-77", "s-40.1-12"]


def test_losers_are_searched_every_30_s_or_after_a_retry() -> None:
    memory, quiet = CommitMemory(searched_ms=1_000), ScriptedBrokers(open_ids=OPEN)
    commit(quiet, *TWO, memory=memory)
    busy = ScriptedBrokers(open_ids=OPEN)

    commit(busy, TWO[0], replace(TWO[1], is_retry=True), memory=memory)

    assert ListOpen() not in quiet.requests
    assert ListOpen() in busy.requests


def test_transaction_that_is_not_open_prevents_the_decision() -> None:
    brokers = ScriptedBrokers(record_of(4), open_ids={"s-40.2-10": 100})

    with pytest.raises(SparkError, match=r"s-40\.2-11 .* is no longer open"):
        commit(brokers, *TWO)
    assert brokers.record == record_of(4)


def test_batch_that_is_too_old_is_not_decided() -> None:
    brokers = ScriptedBrokers(record_of(4), open_ids=OPEN, now_ms=32_000)

    with pytest.raises(SparkError, match="open for 30 s, more than half of their timeout of 60 s"):
        commit(brokers, *TWO)
    assert brokers.record == record_of(4)


def test_fenced_driver_decides_nothing() -> None:
    brokers = ScriptedBrokers(open_ids=OPEN, ends={"s-driver": EndResult.FENCED})

    with pytest.raises(SparkError, match="another driver has taken over"):
        commit(brokers, *TWO)
    assert brokers.ended(commit=True) == ["s-driver"]


def test_transaction_that_is_lost_after_the_decision_is_an_error() -> None:
    brokers = ScriptedBrokers(open_ids=OPEN, ends={"s-40.2-11": EndResult.FENCED})

    with pytest.raises(SparkError, match="batch 5 is decided, but not all of its 2 transactions"):
        commit(brokers, *TWO)


def test_replay_keeps_verified_slots_in_the_record() -> None:
    brokers = ScriptedBrokers(WITHDRAWN, open_ids=OPEN)

    verified = outcome_of(0, OutcomeKind.VERIFIED)
    commit(brokers, verified, outcome_of(1), prepared=prepared_with(WITHDRAWN))

    assert brokers.record == record_of(5, slot_of(0, is_visible=True), slot_of(1))
    assert brokers.ended(commit=True) == ["s-driver", "s-40.2-11"]


@pytest.mark.parametrize("outcomes", ((outcome_of(0, OutcomeKind.DIFFERENT),), (outcome_of(1),)))
def test_replay_with_other_rows_is_refused_and_names_the_slots(
    outcomes: tuple[TaskOutcome, ...],
) -> None:
    with pytest.raises(SparkError, match=r"gives other rows to: 0 \(producer id 100\)"):
        commit(ScriptedBrokers(WITHDRAWN), *outcomes, prepared=prepared_with(WITHDRAWN))


def test_replay_of_an_unknown_outcome_keeps_the_visible_slots() -> None:
    record = record_of(5, slot_of(0), slot_of(1))
    brokers = ScriptedBrokers(record, open_ids=OPEN)
    prepared = replace(prepared_with(record, OnMissingRecord.REPLAY), unknown=frozenset({1}))

    verified = outcome_of(0, OutcomeKind.VERIFIED)
    commit(brokers, verified, outcome_of(1), prepared=prepared)

    assert brokers.record == record_of(5, slot_of(0, is_visible=True), slot_of(1))
    assert brokers.ended(commit=True) == ["s-driver", "s-40.2-11"]


def test_change_of_the_transaction_version_within_a_batch_is_an_error() -> None:
    handle = TWO[1].handle
    assert handle is not None
    other = replace(TWO[1], handle=handle._replace(transaction_version=1))

    with pytest.raises(SparkError, match=r"changed transaction\.version"):
        commit(ScriptedBrokers(), TWO[0], other)
