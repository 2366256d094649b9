"""Rules of InitProducerId, row by row."""

import pytest

from cordwood.coordination.transactions.init_producer_id import (
    InitProducer,
    prepare_init,
    read_init_request,
    validate_init,
)
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import (
    ConcurrentTransactionsError,
    InvalidRequestError,
    InvalidTransactionTimeoutError,
    KafkaError,
    ProducerFencedError,
)
from cordwood.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.unit.coordination.transaction_samples import ID, NOW, TIMEOUT_MS, metadata

EXHAUSTED = metadata(producer=(7, 32_766))


def request(
    transactional_id: str | None = ID,
    *,
    timeout_ms: int = TIMEOUT_MS,
    producer: tuple[int, int] = (-1, -1),
) -> InitProducerIdRequest:
    return InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer[0],
        producer_epoch=producer[1],
    )


def init(expected: tuple[int, int] | None = None) -> InitProducer:
    return InitProducer(ID, TIMEOUT_MS, expected)


def prepared(
    before: TransactionMetadata | None,
    expected: tuple[int, int] | None = None,
    *,
    producer_id: int | None = None,
) -> TransactionMetadata | None:
    return prepare_init(before, init(expected), producer_id=producer_id, now_ms=NOW)


def epochs_after(before: TransactionMetadata, expected: tuple[int, int] | None) -> tuple[int, int]:
    after = prepared(before, expected)
    assert after is not None
    assert after.state is TransactionState.EMPTY
    return after.producer_epoch, after.last_producer_epoch


# -- the request alone


@pytest.mark.parametrize(
    ("wrong", "error"),
    (
        (request(""), InvalidRequestError),
        (request(None), InvalidRequestError),
        (request(producer=(7, -1)), InvalidRequestError),
        (request(producer=(-1, 0)), InvalidRequestError),
        (request(timeout_ms=0), InvalidTransactionTimeoutError),
        (request(timeout_ms=-1), InvalidTransactionTimeoutError),
        (request(timeout_ms=900_001), InvalidTransactionTimeoutError),
        # The id is checked first.
        (request("", timeout_ms=0), InvalidRequestError),
    ),
)
def test_request_is_rejected(wrong: InitProducerIdRequest, error: type[KafkaError]) -> None:
    with pytest.raises(error):
        read_init_request(wrong, max_timeout_ms=900_000)


@pytest.mark.parametrize("timeout_ms", (1, 900_000))
def test_timeout_may_be_up_to_the_maximum(timeout_ms: int) -> None:
    found = read_init_request(request(timeout_ms=timeout_ms), max_timeout_ms=900_000)

    assert found == InitProducer(ID, timeout_ms, None)


def test_request_names_the_producer_that_continues() -> None:
    found = read_init_request(request(producer=(7, 0)), max_timeout_ms=900_000)

    assert found.expected == (7, 0)


# -- whether the producer may begin


def test_pending_transition_is_checked_first() -> None:
    with pytest.raises(ConcurrentTransactionsError):
        validate_init(metadata(), init((99, 0)), is_pending=True)


@pytest.mark.parametrize(
    "expected", ((99, 5), (6, 5), (6, 32_765)), ids=("other", "previous", "previous, epochs left")
)
def test_other_producer_is_fenced(expected: tuple[int, int]) -> None:
    before = metadata()._replace(previous_producer_id=6)

    with pytest.raises(ProducerFencedError):
        validate_init(before, init(expected), is_pending=False)


@pytest.mark.parametrize("expected", (None, (7, 99), (6, 32_766), (6, 32_767)))
def test_current_producer_and_the_exhausted_previous_one_are_valid(
    expected: tuple[int, int] | None,
) -> None:
    before = metadata()._replace(previous_producer_id=6)

    validate_init(before, init(expected), is_pending=False)


@pytest.mark.parametrize("state", (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT))
def test_producer_waits_for_the_end_of_the_last_transaction(state: TransactionState) -> None:
    with pytest.raises(ConcurrentTransactionsError):
        validate_init(metadata(state), init(), is_pending=False)


def test_fenced_producer_does_not_wait() -> None:
    before = metadata(TransactionState.PREPARE_COMMIT)

    with pytest.raises(ProducerFencedError):
        validate_init(before, init((99, 0)), is_pending=False)


def test_unknown_id_is_valid() -> None:
    validate_init(None, init((99, 5)), is_pending=False)


# -- the epoch


@pytest.mark.parametrize("expected", (None, (99, 5)))
def test_unknown_id_gets_a_producer_id_and_epoch_0(expected: tuple[int, int] | None) -> None:
    after = prepared(None, expected, producer_id=8)

    assert prepared(None, expected) is None
    assert after is not None
    assert (after.producer_id, after.producer_epoch, after.last_producer_epoch) == (8, 0, -1)
    assert after.previous_producer_id == 8


@pytest.mark.parametrize(
    "state",
    (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT),
)
@pytest.mark.parametrize(
    ("expected", "epochs"),
    ((None, (6, -1)), ((7, 5), (6, 5)), ((7, 4), (5, 4))),
    ids=("no expected epoch", "the current one", "the last one"),
)
def test_epoch_depends_on_the_expected_one(
    state: TransactionState, expected: tuple[int, int] | None, epochs: tuple[int, int]
) -> None:
    before = metadata(state)._replace(last_producer_epoch=4)

    assert epochs_after(before, expected) == epochs


@pytest.mark.parametrize("epoch", (3, 6, 0))
def test_other_epoch_is_fenced(epoch: int) -> None:
    before = metadata()._replace(last_producer_epoch=4)

    with pytest.raises(ProducerFencedError):
        prepared(before, (7, epoch))


@pytest.mark.parametrize(("expected", "last"), ((None, -1), ((7, 32_766), 32_766)))
def test_exhausted_epoch_needs_a_producer_id(expected: tuple[int, int] | None, last: int) -> None:
    after = prepared(EXHAUSTED, expected, producer_id=8)

    assert prepared(EXHAUSTED, expected) is None
    assert after is not None
    assert (after.producer_id, after.producer_epoch, after.last_producer_epoch) == (8, 0, last)


def test_producer_id_is_not_used_when_another_event_has_replaced_the_epoch() -> None:
    after = prepared(metadata(), producer_id=8)

    assert after is not None
    assert (after.producer_id, after.producer_epoch) == (7, 6)


def test_repeated_rotation_returns_the_new_producer() -> None:
    before = EXHAUSTED.with_producer_id(8, TIMEOUT_MS, last_epoch=32_766, now_ms=NOW)

    after = prepared(before, (7, 32_766))

    assert after is not None
    assert (after.producer_id, after.producer_epoch) == (8, 0)


def test_fenced_producer_does_not_get_an_id_when_the_epochs_are_exhausted() -> None:
    with pytest.raises(ProducerFencedError):
        prepared(EXHAUSTED, (7, 3), producer_id=8)
