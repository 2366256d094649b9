"""Counts of the fetchers of one broker, for its metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class FetchCounts:
    """Counts since the start (Kafka: `ReplicationBytesInPerSec`, `FetcherStats`)."""

    #: Bytes of records that leaders have sent.
    bytes: int = 0
    requests: int = 0
    truncations: int = 0
    #: Requests without a usable response.
    failed_requests: int = 0
