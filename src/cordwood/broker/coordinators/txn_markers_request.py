"""Markers of transactions in requests to other brokers (Kafka: `WriteTxnMarkersRequest.Builder`).

One request has the markers of several transactions. A response is a map by producer id: markers of
one producer may have one result, in any order.

Version 2 has the transaction version of each marker, by which the leader checks its epoch. Kafka
3.9 has version 1, in which a marker may repeat the epoch of the transaction.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from cordwood.cluster.channels.broker_channel import BrokerChannel
from cordwood.coordination.ports import TransactionMarker
from cordwood.core.errors import (
    KafkaError,
    UnknownServerError,
    UnsupportedForMessageFormatError,
    UnsupportedVersionError,
    error_from_code,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

MarkerErrors: TypeAlias = Mapping[TopicPartition, KafkaError]
"""The errors of the partitions that have no marker yet."""

#: The most partitions of a request with several markers, and of one marker in it. The loop encodes
#: a request, and decodes its response, in one turn.
MOST_PARTITIONS: Final = 1_000

#: Codes of a partition that has a marker, or whose log cannot have transactions.
_NOT_AWAITED: Final = frozenset(
    {0, UnsupportedForMessageFormatError.code, UnsupportedVersionError.code}
)


class MarkerRequest:
    """WriteTxnMarkers to one broker; `timeout_ms` returns the time of a request."""

    def __init__(self, timeout_ms: Callable[[], int]) -> None:
        self._timeout_ms = timeout_ms

    def fits(self, chosen: Sequence[TransactionMarker], entry: TransactionMarker) -> bool:
        """Return whether a request may have another marker."""
        return sum(len(each.partitions) for each in (*chosen, entry)) <= MOST_PARTITIONS

    async def send(
        self, channel: BrokerChannel, entries: Sequence[TransactionMarker]
    ) -> list[MarkerErrors]:
        """Send markers; return the errors of each."""
        response = await channel.send(
            request_of(entries), WriteTxnMarkersResponse, timeout_ms=self._timeout_ms()
        )
        return errors_of(response, entries)


def request_of(markers: Iterable[TransactionMarker]) -> WriteTxnMarkersRequest:
    """Return the request with some markers."""
    return WriteTxnMarkersRequest(
        markers=[
            WritableTxnMarker(
                producer_id=each.producer_id,
                producer_epoch=each.producer_epoch,
                transaction_result=each.is_commit,
                topics=_by_topic(each.partitions),
                coordinator_epoch=each.coordinator_epoch,
                transaction_version=each.transaction_version,
            )
            for each in markers
        ]
    )


def errors_of(
    response: WriteTxnMarkersResponse, markers: Iterable[TransactionMarker]
) -> list[MarkerErrors]:
    """Return the errors of each marker; a partition without a result has one, too."""
    codes = {
        (marker.producer_id, topic.name, each.partition_index): each.error_code
        for marker in response.markers
        for topic in marker.topics
        for each in topic.partitions
    }
    return [
        {
            name: error
            for name in marker.partitions
            if (error := _error(codes.get((marker.producer_id, *name)), name)) is not None
        }
        for marker in markers
    ]


def _error(code: int | None, name: TopicPartition) -> KafkaError | None:
    if code is None:
        return UnknownServerError(f"the response has no result for {name}")
    if code in _NOT_AWAITED:
        return None
    return error_from_code(code, f"the leader rejects a marker for {name}")


def _by_topic(names: Iterable[TopicPartition]) -> list[WritableTxnMarkerTopic]:
    topics: dict[str, list[int]] = {}
    for name in names:
        topics.setdefault(name.topic, []).append(name.partition)
    return [
        WritableTxnMarkerTopic(name=topic, partition_indexes=numbers)
        for topic, numbers in topics.items()
    ]
