"""States of a transactional producer; transcripts in `tests/scripts` show them in order."""

import pytest

from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.producer.transaction_manager import ProducerState, TransactionManager
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    InvalidTxnStateError,
    ProducerFencedError,
    RequestTimedOutError,
    TransactionAbortableError,
)

P0, P1 = partitions_of([("t", 0), ("t", 1)])


def begun(version: int) -> TransactionManager:
    manager = TransactionManager("etl")
    manager.initialize(ProducerIdentity(7, 3), version)
    manager.begin()
    return manager


def test_partition_is_added_once_before_version_2() -> None:
    manager = begun(1)

    assert not manager.use(P1)
    assert not manager.use(P0)
    assert manager.partitions_to_add() == [P0, P1]
    manager.partitions_added([P0, P1])
    assert manager.use(P0)
    assert manager.partitions_to_add() == []


def test_brokers_add_partitions_with_version_2() -> None:
    assert begun(2).use(P0)


def test_error_names_the_state_and_the_remedy() -> None:
    manager = begun(2)
    manager.fail(TransactionAbortableError("t-0: lost"))

    with pytest.raises(TransactionAbortableError, match=r"'etl': .*\(t-0: lost\); call `abort`"):
        manager.ensure_open()


def test_retriable_error_of_a_batch_is_to_be_followed_by_an_abort() -> None:
    """A commit that has timed out may be repeated; one whose batch has timed out may not."""
    manager = begun(1)
    manager.fail(RequestTimedOutError("t-0: not sent within 120000 ms"))

    with pytest.raises(TransactionAbortableError, match=r"not sent within .*call `abort`"):
        manager.prepare_commit()


def test_fatal_error_stays() -> None:
    manager = begun(2)
    manager.fail(ProducerFencedError("fenced"))
    manager.fail(TransactionAbortableError("later"))

    assert manager.state is ProducerState.FATAL
    with pytest.raises(ProducerFencedError, match="create another one"):
        manager.prepare_abort()


@pytest.mark.parametrize(("version", "is_due"), ((1, True), (2, False)))
def test_epoch_is_requested_after_an_error_before_version_2(version: int, *, is_due: bool) -> None:
    manager = begun(version)
    manager.require_bump()

    assert manager.is_bump_due is is_due


def test_detached_handle_names_the_protocol() -> None:
    manager = begun(2)
    manager.use(P0)

    assert manager.detach() == ("etl", 7, 3, 2)
    with pytest.raises(InvalidTxnStateError, match=r"Admin\.end_transaction"):
        manager.ensure_open()


def test_detached_producer_can_be_initialized_as_a_new_one() -> None:
    manager = begun(2)
    manager.use(P0)
    manager.detach()

    manager.take_up()

    assert (manager.state, manager.identity) == (ProducerState.UNINITIALIZED, None)


def test_open_transaction_is_not_taken_up() -> None:
    manager = begun(2)

    manager.take_up()

    assert manager.state is ProducerState.IN_TRANSACTION


def test_detach_needs_a_record() -> None:
    with pytest.raises(InvalidTxnStateError, match="send a record first"):
        begun(2).detach()
