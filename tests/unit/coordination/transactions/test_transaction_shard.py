"""One partition of `__transaction_state`: whole transactions, and rejected appends."""

import pytest

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import StoredMarker
from cordwood.coordination.outcome import Outcome, Ticket
from cordwood.coordination.topic_view import Topics
from cordwood.coordination.transactions.transaction_appends import LIGHT_PARTITIONS
from cordwood.coordination.transactions.transaction_listing import ListFilters, TransactionPage
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_outcome import TransactionOutcome
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    NotCoordinatorError,
)
from cordwood.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from cordwood.protocol.messages.init_producer_id import InitProducerIdRequest
from cordwood.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from tests.unit.coordination.transaction_samples import (
    ID,
    NOW,
    ORDERS,
    Producer,
    TransactionHarness,
    metadata,
    tp,
)

UNAVAILABLE = CoordinatorNotAvailableError("too few replicas")


def at_level(level: int) -> TransactionHarness:
    return TransactionHarness(TransactionSettings(transaction_version=level))


def in_state(found: TransactionMetadata, *, level: int = 2) -> TransactionHarness:
    """Return a shard that an earlier coordinator left with an id; the next producer id is 8."""
    harness = at_level(level)
    harness.put(found)
    harness.next_producer_id = 8
    return harness


# -- producers


def test_new_id_gets_a_producer_id_and_epoch_0() -> None:
    harness = TransactionHarness()

    assert harness.init() == Producer(0, 0, 0)
    assert harness.init("other") == Producer(0, 1, 0)


def test_next_producer_gets_the_next_epoch() -> None:
    harness = TransactionHarness()
    harness.init()

    assert harness.init(timeout_ms=5_000) == Producer(0, 0, 1)

    assert harness.found().timeout_ms == 5_000


def test_producer_continues_with_the_next_epoch_and_may_repeat_the_request() -> None:
    harness = TransactionHarness()
    harness.init()

    assert harness.init(expected=(0, 0)) == Producer(0, 0, 1)
    assert harness.init(expected=(0, 0)) == Producer(0, 0, 1)
    assert harness.init(expected=(0, 1)) == Producer(0, 0, 2)


@pytest.mark.parametrize(("version", "code"), ((3, 47), (4, 90), (5, 90)))
def test_fenced_producer_gets_the_error_of_its_version(version: int, code: int) -> None:
    harness = in_state(metadata())

    assert harness.init(expected=(7, 3), version=version) == Producer(code)


@pytest.mark.parametrize(("transactional_id", "timeout_ms", "code"), (("", 1, 42), (ID, 0, 50)))
def test_invalid_request_is_answered_with_its_error(
    transactional_id: str, timeout_ms: int, code: int
) -> None:
    found = TransactionHarness().init(transactional_id, timeout_ms=timeout_ms)

    assert found == Producer(code)


def test_exhausted_producer_gets_a_new_id() -> None:
    harness = in_state(metadata(producer=(7, 32_766)))

    assert harness.init() == Producer(0, 8, 0)


def test_request_fails_when_no_producer_id_can_be_allocated() -> None:
    harness = TransactionHarness()
    harness.allocation_error = CoordinatorLoadInProgressError("no ids")

    assert harness.init() == Producer(14)

    assert harness.shard.transactions.get(ID) is None


def test_request_is_validated_again_when_its_producer_id_is_allocated() -> None:
    harness = TransactionHarness()
    late = harness.shard.init_producer_id(
        init_request(), ClientContext(5), ticket=Ticket(99), now_ms=NOW
    )
    harness.init()

    harness.perform(late.producer_id_requests[0].allocated(50, NOW))

    assert (harness.found().producer_id, harness.found().producer_epoch) == (0, 1)


def init_request() -> InitProducerIdRequest:
    return InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=1_000)


def test_rejected_initialization_is_undone() -> None:
    harness = TransactionHarness()
    harness.rejection = UNAVAILABLE

    assert harness.init() == Producer(15)

    harness.rejection = None
    assert harness.init() == Producer(0, 1, 0)


# -- an ongoing transaction meets a new producer


def test_new_producer_aborts_the_ongoing_transaction_and_gets_the_second_next_epoch() -> None:
    harness = in_state(metadata(TransactionState.ONGOING))

    assert harness.init() == Producer(51)
    assert harness.found().state is TransactionState.PREPARE_ABORT
    assert harness.init() == Producer(51)
    harness.complete()

    assert harness.init() == Producer(0, 7, 7)


@pytest.mark.parametrize("level", (0, 1))
def test_new_producer_fences_before_version_2(level: int) -> None:
    harness = in_state(metadata(TransactionState.ONGOING), level=level)

    assert harness.init() == Producer(51)
    assert harness.markers[0].marker.producer_epoch == 6
    assert harness.markers[0].marker.transaction_version == 0
    harness.complete()

    assert harness.init() == Producer(0, 7, 7)


def test_new_producer_rotates_the_producer_id_at_the_last_epoch() -> None:
    harness = in_state(metadata(TransactionState.ONGOING, (7, 32_766)))

    assert harness.init() == Producer(51)
    prepared = harness.found()
    harness.complete()

    assert (prepared.producer_epoch, prepared.next_producer_id) == (32_767, 8)
    assert (harness.found().producer_id, harness.found().producer_epoch) == (8, 0)
    # The late abort of the fenced client is a repeated request.
    assert harness.end((7, 32_766), commit=False) == Producer(0, 8, 0)


def test_rejected_fence_of_version_2_may_raise_the_epoch_again() -> None:
    harness = in_state(metadata(TransactionState.ONGOING))
    harness.rejection = UNAVAILABLE

    assert harness.init() == Producer(15)
    assert harness.found() == metadata(TransactionState.ONGOING)
    harness.rejection = None
    harness.init()

    assert harness.found().producer_epoch == 6


def test_rejected_fence_of_version_1_raises_the_epoch_once() -> None:
    harness = in_state(metadata(TransactionState.ONGOING), level=1)
    harness.rejection = UNAVAILABLE

    assert harness.init() == Producer(15)
    assert harness.init() == Producer(15)
    assert (harness.found().producer_epoch, harness.found().has_failed_epoch_fence) == (6, True)
    assert harness.end((7, 5), version=4) == Producer(90)
    harness.rejection = None
    assert harness.init() == Producer(51)
    harness.complete()

    assert (harness.found().producer_epoch, harness.found().has_failed_epoch_fence) == (6, False)


def test_ongoing_transaction_stays_when_no_producer_id_can_be_allocated() -> None:
    harness = in_state(metadata(TransactionState.ONGOING, (7, 32_766)))
    harness.allocation_error = CoordinatorLoadInProgressError("no ids")

    assert harness.init() == Producer(14)
    assert harness.end((7, 32_766)) == Producer(14)

    assert harness.found().state is TransactionState.ONGOING


# -- the runs of the reference


def test_transactions_of_version_2_raise_the_epoch() -> None:
    harness = TransactionHarness()
    assert harness.init() == Producer(0, 0, 0)
    harness.add((0, 0), ORDERS)

    assert harness.end((0, 0)) == Producer(0, 0, 1)
    assert harness.end((0, 0)) == Producer(51)
    harness.complete()
    assert harness.end((0, 0)) == Producer(0, 0, 1)
    assert harness.end((0, 0), commit=False) == Producer(48)
    assert harness.end((0, 1)) == Producer(48)
    assert harness.end((0, 1), commit=False) == Producer(0, 0, 2)
    harness.complete()

    assert harness.found().state is TransactionState.COMPLETE_ABORT


def test_last_epoch_of_a_producer_id_ends_with_the_next_id() -> None:
    harness = in_state(metadata(TransactionState.ONGOING, (1, 32_765)))
    assert harness.end((1, 32_765)) == Producer(0, 1, 32_766)
    harness.complete()
    harness.add((1, 32_766), ORDERS)

    assert harness.end((1, 32_766)) == Producer(0, 8, 0)
    assert harness.markers[0].marker.producer_epoch == 32_767
    # The client has its next producer already: its next transaction waits, and is not refused.
    assert harness.add((8, 0), ORDERS) == [51]
    harness.complete()
    assert harness.end((1, 32_766)) == Producer(0, 8, 0)
    assert harness.end((1, 32_766), commit=False) == Producer(48)
    harness.add((8, 0), ORDERS)
    harness.end((8, 0))
    harness.complete()

    assert harness.init(expected=(1, 32_766)) == Producer(90)


def test_timed_out_transaction_of_version_2_is_aborted_once_for_its_client() -> None:
    harness = TransactionHarness()
    harness.init(timeout_ms=1_000)
    harness.add((0, 0), ORDERS)

    harness.advance(10_000)
    harness.complete()

    assert (harness.found().state, harness.found().producer_epoch) == (
        TransactionState.COMPLETE_ABORT,
        1,
    )
    assert harness.end((0, 0)) == Producer(48)
    assert harness.end((0, 0), commit=False) == Producer(0, 0, 1)
    assert harness.init(expected=(0, 0)) == Producer(0, 0, 1)


def test_timed_out_producer_repeats_its_initialization_after_a_rotation() -> None:
    late = metadata(TransactionState.ONGOING, (7, 32_766))._replace(timeout_ms=1)
    harness = in_state(late)

    harness.advance(10_000)
    harness.complete()

    assert harness.init(expected=(7, 32_766)) == Producer(0, 8, 0)


def test_clients_of_both_versions_take_turns() -> None:
    harness = TransactionHarness()
    harness.init()
    harness.add((0, 0), ORDERS, version=3)
    assert harness.end((0, 0), version=4) == Producer(0)
    harness.complete()
    assert harness.found().producer_epoch == 0
    harness.add((0, 0), ORDERS)
    assert harness.found().client_version == 2
    harness.add((0, 0), tp("orders-1"), version=3)
    assert harness.found().client_version == 0

    assert harness.end((0, 0)) == Producer(0, 0, 1)

    assert harness.found().client_version == 2
    assert harness.markers[0].marker.transaction_version == 2


@pytest.mark.parametrize(("version", "code"), ((0, 47), (1, 47), (2, 90), (4, 90), (5, 90)))
def test_end_of_another_epoch_has_the_error_of_its_version(version: int, code: int) -> None:
    harness = in_state(metadata(TransactionState.ONGOING))

    assert harness.end((7, 3), version=version) == Producer(code)


@pytest.mark.parametrize("version", (4, 5))
def test_end_of_an_empty_id_is_invalid(version: int) -> None:
    assert TransactionHarness().end((0, 0), transactional_id="", version=version) == Producer(42)


def test_abort_without_partitions_has_no_markers_to_write() -> None:
    harness = TransactionHarness()
    harness.init()

    assert harness.end((0, 0), commit=False) == Producer(0, 0, 1)

    assert harness.markers[0].marker.partitions == frozenset()
    harness.complete()
    assert harness.found().state is TransactionState.COMPLETE_ABORT


@pytest.mark.parametrize("version", (4, 5))
def test_rejected_end_leaves_the_transaction_ongoing(version: int) -> None:
    harness = in_state(metadata(TransactionState.ONGOING))
    harness.rejection = UNAVAILABLE

    assert harness.end((7, 5), version=version) == Producer(15)
    assert harness.markers == []

    assert harness.found() == metadata(TransactionState.ONGOING)
    harness.rejection = None
    assert harness.end((7, 5), version=version).code == 0


# -- pending transitions


def test_requests_are_concurrent_while_a_record_is_on_its_way() -> None:
    harness = in_state(metadata(TransactionState.ONGOING))
    harness.shard.transactions.begin([metadata(TransactionState.PREPARE_COMMIT)])

    assert harness.init() == Producer(51)
    assert harness.end((7, 5)) == Producer(51)
    assert harness.end((7, 5), version=4) == Producer(51)
    assert harness.add((7, 5), ORDERS) == [51]
    assert harness.add_offsets((7, 5)) == 51


@pytest.mark.parametrize("commit", (True, False))
def test_contradictory_end_is_concurrent_until_the_first_one_is_complete(*, commit: bool) -> None:
    harness = in_state(metadata(TransactionState.ONGOING))
    harness.end((7, 5), commit=commit)

    assert harness.end((7, 5), commit=not commit) == Producer(51)
    harness.complete()

    assert harness.end((7, 5), commit=not commit) == Producer(48)


# -- the rest of a shard's contract


def test_ids_are_described() -> None:
    shard = in_state(metadata()).shard
    request = DescribeTransactionsRequest(transactional_ids=[ID, "unknown", ""])

    outcome = shard.describe_transactions(request, ClientContext(0), ticket=Ticket(1), now_ms=NOW)

    response = outcome.answers[0].response
    assert isinstance(response, DescribeTransactionsResponse)
    assert [each.error_code for each in response.transaction_states] == [0, 105, 42]


@pytest.mark.parametrize(
    ("prefix", "ids", "found"),
    (("pay", [ID, "gone"], [ID]), ("bill", [ID], []), ("pay", [], [])),
)
def test_ids_of_a_page_are_listed_by_its_filters(
    prefix: str, ids: list[str], found: list[str]
) -> None:
    shard = in_state(metadata()).shard
    request = ListTransactionsRequest(state_filters=[], producer_id_filters=[])
    filters = ListFilters.of(request, matches_id=lambda each: each.startswith(prefix))

    outcome = shard.list_transactions(
        request, ClientContext(2), ticket=Ticket(1), now_ms=NOW, page=TransactionPage(filters, ids)
    )

    response = outcome.answers[0].response
    assert isinstance(response, ListTransactionsResponse)
    assert [each.transactional_id for each in response.transaction_states] == found


def test_all_ids_are_listed_without_a_page() -> None:
    shard = in_state(metadata()).shard
    request = ListTransactionsRequest(state_filters=["Odd", "Odd"], producer_id_filters=[])

    outcome = shard.list_transactions(request, ClientContext(2), ticket=Ticket(1), now_ms=NOW)

    response = outcome.answers[0].response
    assert isinstance(response, ListTransactionsResponse)
    assert (response.unknown_state_filters, response.transaction_states) == (["Odd"], [])
    assert shard.transactional_ids() == [ID]


def test_settings_may_change() -> None:
    harness = TransactionHarness()

    harness.shard.settings = TransactionSettings(max_timeout_ms=10)

    assert harness.init(timeout_ms=11) == Producer(50)


def test_coordinator_epoch_may_be_set_before_the_load_ends() -> None:
    shard = TransactionShard()

    shard.coordinator_epoch = 9

    assert shard.coordinator_epoch == 9
    assert shard.settings == TransactionSettings()


def test_topics_and_markers_change_nothing() -> None:
    harness = in_state(metadata())

    harness.shard.replay_marker(StoredMarker(7, 5, 0, is_commit=True))

    assert harness.shard.on_topics(Topics(), NOW) == TransactionOutcome()
    assert harness.found() == metadata()


def test_closed_shard_forgets_what_is_pending() -> None:
    harness = in_state(metadata())
    harness.shard.transactions.begin([metadata(TransactionState.ONGOING)])

    outcome = harness.shard.close(NotCoordinatorError("another leader"))

    assert outcome == TransactionOutcome()
    assert not harness.shard.transactions.is_pending(ID)
    assert isinstance(outcome, Outcome)


def test_transaction_of_many_partitions_is_described_in_a_long_event() -> None:
    harness = TransactionHarness()
    many = frozenset(tp(f"orders-{number}") for number in range(LIGHT_PARTITIONS + 1))
    harness.put(metadata(TransactionState.ONGOING)._replace(partitions=many))
    request = DescribeTransactionsRequest(transactional_ids=[ID])

    outcome = harness.shard.describe_transactions(
        request, ClientContext(0), ticket=Ticket(1), now_ms=NOW
    )
    before = [*outcome.answers]
    (answer,) = outcome.completed().answers

    assert before == []
    assert isinstance(answer.response, DescribeTransactionsResponse)
    assert len(answer.response.transaction_states[0].topics[0].partitions) == len(many)
