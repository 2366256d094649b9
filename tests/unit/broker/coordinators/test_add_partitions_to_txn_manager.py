"""Tests of the requests of leaders to the coordinators of transactions."""

from typing import TypeVar

import pytest

from cordwood.broker.coordinators.add_partitions_to_txn_manager import (
    AddPartitionsRequest,
    errors_of,
)
from cordwood.core.errors import (
    NetworkError,
    RequestTimedOutError,
    UnsupportedVersionError,
)
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from cordwood.protocol.schema import NEWEST, Request, Response
from tests.unit.broker.broker_samples import run

R = TypeVar("R", bound=Response)


def transaction(key: str, *numbers: int) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=key,
        producer_id=7,
        producer_epoch=0,
        topics=[AddPartitionsToTxnTopic(name="orders", partitions=[*numbers])],
    )


def result(key: str, code: int) -> AddPartitionsToTxnResult:
    """Return a result with the code of `orders-0`."""
    partition = AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=code)
    topic = AddPartitionsToTxnTopicResult(name="orders", results_by_partition=[partition])
    return AddPartitionsToTxnResult(transactional_id=key, topic_results=[topic])


def codes(response: AddPartitionsToTxnResponse, wanted: AddPartitionsToTxnTransaction) -> list[int]:
    return [each.code for each in errors_of(response, wanted).values()]


class LateChannel:
    """A channel without responses, to a broker that knows versions up to the given one."""

    def __init__(self, newest: int) -> None:
        self.sent = list[Request]()
        self.newest = newest

    async def version(self, kind: type[Request], *, timeout_ms: float) -> int:
        assert kind is AddPartitionsToTxnRequest
        return self.newest

    async def send(
        self, request: Request, kind: type[R], *, timeout_ms: float, most_version: int = NEWEST
    ) -> R:
        assert (timeout_ms, most_version) == (1, self.newest)
        self.sent.append(request)
        raise RequestTimedOutError(f"no {kind.__name__}")

    def close(self) -> None:
        raise NotImplementedError


def test_each_transaction_has_its_own_errors() -> None:
    response = AddPartitionsToTxnResponse(
        results_by_transaction=[result("t", 0), result("u", 47)],
    )

    assert codes(response, transaction("t", 0)) == []
    assert codes(response, transaction("u", 0)) == [47]


def test_error_of_the_response_is_that_of_all_partitions() -> None:
    response = AddPartitionsToTxnResponse(error_code=31, results_by_transaction=[])

    assert codes(response, transaction("t", 0, 1)) == [31, 31]


def test_partition_without_a_result_is_not_added() -> None:
    response = AddPartitionsToTxnResponse(results_by_transaction=[result("t", 0)])

    assert codes(response, transaction("t", 0, 1)) == [-1]
    assert codes(response, transaction("u", 0)) == [-1]


def test_request_has_a_transactional_id_once() -> None:
    request = AddPartitionsRequest(lambda: 1)

    assert request.fits([transaction("t", 0)], transaction("u", 0))
    assert not request.fits([transaction("t", 0)], transaction("t", 1))
    assert not request.fits([transaction(str(each)) for each in range(500)], transaction("t"))


def test_request_that_times_out_is_a_network_error() -> None:
    """Clients of Produce and of TxnOffsetCommit retry it, as they do with Kafka."""
    channel = LateChannel(4)

    with pytest.raises(NetworkError):
        run(AddPartitionsRequest(lambda: 1).send(channel, [transaction("t", 0)]))

    (request,) = channel.sent
    assert isinstance(request, AddPartitionsToTxnRequest)
    assert [each.transactional_id for each in request.transactions] == ["t"]


def test_broker_without_requests_of_brokers_is_not_asked() -> None:
    """Kafka before 3.5 knows versions for clients alone; its transactions are not verified."""
    channel = LateChannel(3)

    with pytest.raises(UnsupportedVersionError):
        run(AddPartitionsRequest(lambda: 1).send(channel, [transaction("t", 0)]))

    assert channel.sent == []
