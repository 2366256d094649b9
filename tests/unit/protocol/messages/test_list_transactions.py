"""ListTransactions: golden bytes."""

from cordwood.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from tests.unit.protocol.messages.golden import assert_wire


def test_request_is_kafkas_in_version_2() -> None:
    message = ListTransactionsRequest(
        state_filters=["s"], producer_id_filters=[1, 2], duration_filter=3
    )
    wire = "02 0273 03 0000000000000001 0000000000000002 0000000000000003 00 00"

    assert_wire(message, wire, version=2)


def test_response_is_kafkas_in_version_2() -> None:
    message = ListTransactionsResponse(
        throttle_time_ms=1,
        error_code=2,
        unknown_state_filters=["u"],
        transaction_states=[
            TransactionState(transactional_id="x", producer_id=3, transaction_state="t")
        ],
    )
    wire = "00000001 0002 02 0275 02 0278 0000000000000003 0274 00 00"

    assert_wire(message, wire, version=2)
