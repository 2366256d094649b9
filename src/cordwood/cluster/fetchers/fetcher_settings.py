"""Settings of the fetchers (Kafka: `ReplicationConfigs`)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FetcherSettings:
    """The settings `replica.fetch.…`, `replica.socket.timeout.ms` and `num.replica.fetchers`."""

    max_bytes: int = 1_048_576
    response_max_bytes: int = 10_485_760
    min_bytes: int = 1
    wait_max_ms: int = 500
    backoff_ms: int = 1_000
    socket_timeout_ms: int = 30_000
    fetchers_per_leader: int = 1
