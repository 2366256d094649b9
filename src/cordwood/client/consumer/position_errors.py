"""Errors of positions: retried, reported by `poll`, or ended by a reset (Java: `FetchCollector`).

    retriable       another attempt after a pause, with new metadata; each pause is twice as long
    out of range    `auto_offset_reset` decides, after the prefetched records were returned
    damaged         the broker cannot read its log: `poll` raises it; Kafka calls it retriable
    every other     `poll` raises it, and its caller decides

A position that gets no further is logged at its 4th, 8th, 16th … failure in a row. A new leader
epoch causes one or two.
"""

import logging
from typing import Final

from cordwood.client.auto_offset_reset import duration_ms
from cordwood.client.consumer.offset_fetcher import EARLIEST, LATEST
from cordwood.client.consumer.subscription_state import TopicPartitionState
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.owned_tasks import WakeupSignal
from cordwood.client.settings import ConsumerSettings
from cordwood.core.errors import (
    CorruptMessageError,
    KafkaError,
    OffsetOutOfRangeError,
    OutdatedError,
    UnknownLeaderEpochError,
)

FIRST_WARNING: Final = 4
SEEK: Final = "seek to an existing offset, or set auto_offset_reset"

_RESET_TARGETS: Final = {"earliest": EARLIEST, "latest": LATEST}

_log = logging.getLogger(__name__)


class PositionErrors:
    """Handling of errors for the positions of one consumer; `arrived` wakes its `poll`."""

    def __init__(
        self, client: NetworkClient, settings: ConsumerSettings, arrived: WakeupSignal
    ) -> None:
        self._client = client
        self._settings = settings
        self._arrived = arrived

    @property
    def reset_target(self) -> int | None:
        """EARLIEST, LATEST or the timestamp of `auto_offset_reset`; None without a reset."""
        reset = self._settings.auto_offset_reset
        ago_ms = duration_ms(reset)
        if ago_ms is not None:
            return max(0, self._client.runtime.clock.now_ms() - ago_ms)
        return _RESET_TARGETS.get(reset)

    def retry_later(self, position: TopicPartitionState, error: KafkaError) -> None:
        """Retry after a pause if the error is retriable; otherwise let `poll` raise it."""
        if not error.retriable or isinstance(error, CorruptMessageError):
            self.report(position, error)
            return
        backoff = position.backoff = position.backoff or self._client.backoff()
        position.not_before_ms = self._client.runtime.now_ms() + backoff.next_ms()
        if isinstance(error, UnknownLeaderEpochError):
            self._client.rejected.add(position.partition)
        is_shown = backoff.failures >= FIRST_WARNING and backoff.failures.bit_count() == 1
        if isinstance(error, OutdatedError) and is_shown:
            self._warn(position, error, failures=backoff.failures)
        self._client.refresh_soon()

    def report(self, position: TopicPartitionState, problem: KafkaError) -> None:
        """Let the next `poll` raise the error."""
        position.problem = problem
        self._arrived.set()

    def reset(self, position: TopicPartitionState, reason: str) -> None:
        """Apply `auto_offset_reset` to a position that does not exist in the log."""
        target = self.reset_target
        if position.fetched:  # prefetched records are returned first
            pause_ms = self._settings.retry_backoff_ms
            position.not_before_ms = self._client.runtime.now_ms() + pause_ms
        elif target is None:
            self.report(position, OffsetOutOfRangeError(f"{reason}; {SEEK}"))
        else:
            _log.warning("%s; auto_offset_reset applies", reason)
            position.seek_to(target)

    def _warn(self, position: TopicPartitionState, error: KafkaError, *, failures: int) -> None:
        cluster = self._client.cluster
        known = cluster.partition(*position.partition)
        _log.warning(
            "%s; broker %s rejected %d requests in a row, with leader epoch %d of the metadata;"
            " the metadata are refreshed",
            error,
            "unknown" if known is None else known.leader,
            failures,
            position.validated_epoch,
        )
