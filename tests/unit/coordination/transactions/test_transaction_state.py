"""States of a transactional id: names, groups and legal transitions."""

import pytest

from cordwood.coordination.transactions.transaction_state import (
    STATES_BY_NAME,
    TransactionState,
)

LEGAL = {
    "Empty": {"Empty", "CompleteCommit", "CompleteAbort"},
    "Ongoing": {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"},
    "PrepareCommit": {"Ongoing"},
    "PrepareAbort": {"Ongoing", "PrepareEpochFence", "Empty", "CompleteCommit", "CompleteAbort"},
    "CompleteCommit": {"PrepareCommit"},
    "CompleteAbort": {"PrepareAbort"},
    "Dead": {"Empty", "CompleteCommit", "CompleteAbort"},
    "PrepareEpochFence": {"Ongoing"},
}


@pytest.mark.parametrize("previous", TransactionState)
@pytest.mark.parametrize("state", TransactionState)
def test_state_follows_those_that_kafka_allows(
    state: TransactionState, previous: TransactionState
) -> None:
    is_legal = previous.kafka_name in LEGAL[state.kafka_name]

    assert state.may_follow(previous) is is_legal


def test_states_have_kafkas_names_in_the_order_of_their_values() -> None:
    assert list(STATES_BY_NAME) == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


def test_prepared_and_idle_states_are_disjoint() -> None:
    prepared = {each.kafka_name for each in TransactionState if each.is_prepared}
    idle = {each.kafka_name for each in TransactionState if each.is_idle}

    assert prepared == {"PrepareCommit", "PrepareAbort"}
    assert idle == {"Empty", "CompleteCommit", "CompleteAbort"}
