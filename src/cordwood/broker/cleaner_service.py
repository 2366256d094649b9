"""Log cleaner of a broker: its dynamic settings, its metrics and its log events (Kafka:
`LogCleaner` as a `BrokerReconfigurable`).

A changed setting applies from the next cleaning pass, and the I/O rate at once.
`log.cleaner.enable` applies from the next start.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.compaction.cleaner_config import CleanerConfig
from cordwood.compaction.cleaning_failures import CleaningFailure
from cordwood.compaction.cleaning_job import CleanerRunner, Verify
from cordwood.compaction.log_cleaner import CompletedPass, LogCleaner
from cordwood.core.ports import Worker
from cordwood.core.types import TopicPartition
from cordwood.observability.logs import fields
from cordwood.observability.metrics import Labels, Metrics, Readings
from cordwood.storage.manager.log_manager import LogManager

_log = logging.getLogger(__name__)


_DYNAMIC: Final = (
    "log.cleaner.threads",
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.max.bytes.per.second",
    "cordwood.compaction.verify",
)


def cleaner_config(configs: BrokerConfigs) -> CleanerConfig:
    """Return the current settings of the cleaner."""
    return CleanerConfig(
        is_enabled=configs.boolean("log.cleaner.enable"),
        threads=configs.integer("log.cleaner.threads"),
        backoff_ms=configs.integer("log.cleaner.backoff.ms"),
        dedupe_buffer_bytes=configs.integer("log.cleaner.dedupe.buffer.size"),
        io_buffer_bytes=configs.integer("log.cleaner.io.buffer.size"),
        load_factor=configs.number("log.cleaner.io.buffer.load.factor"),
        bytes_per_second=configs.number("log.cleaner.io.max.bytes.per.second"),
        verify=Verify(configs.text("cordwood.compaction.verify")),
    )


def make_cleaner(
    manager: LogManager,
    *,
    runner: CleanerRunner,
    worker: Worker,
    configs: BrokerConfigs,
    metrics: Metrics,
) -> LogCleaner:
    """Return the cleaner of a manager's logs; it follows changes of the settings.

    `runner` runs the cleaning passes, and calls on `worker` wait for them.
    """
    cleaner = LogCleaner(
        manager,
        cleaner_config(configs),
        runner=runner,
        worker=worker,
        on_completed=partial(_report_completed, metrics),
        on_failed=partial(_report_failed, metrics),
    )
    configs.on_change(_DYNAMIC, lambda: cleaner.reconfigure(cleaner_config(configs)))
    _register_gauges(metrics, cleaner, manager)
    return cleaner


def _report_completed(metrics: Metrics, cleaned: CompletedPass) -> None:
    counts, seconds = cleaned.certificate.counts, cleaned.took_ms / 1000
    metrics.counter("cordwood_cleaner_passes_total", "cleaned").add()
    metrics.counter("cordwood_cleaner_read_bytes_total").add(counts.bytes_read)
    metrics.counter("cordwood_cleaner_kept_bytes_total").add(counts.bytes_kept)
    metrics.gauge("cordwood_cleaner_recopy_ratio").set(
        counts.bytes_kept / counts.bytes_read if counts.bytes_read else 0
    )
    metrics.histogram("cordwood_cleaner_pass_seconds").observe(seconds)
    longest = metrics.gauge("cordwood_cleaner_longest_pass_seconds")
    longest.set(max(longest.value, seconds))
    _log.info(
        "log cleaned",
        extra=fields(
            partition=str(cleaned.partition),
            reason="compaction",
            first_dirty=cleaned.certificate.first_dirty,
            end=cleaned.certificate.end,
            segments_before=cleaned.certificate.segments_before,
            segments_after=cleaned.certificate.segments_after,
            bytes_before=counts.bytes_read,
            bytes_after=counts.bytes_kept,
            records_before=counts.records_read,
            records_after=counts.records_kept,
            verified=cleaned.certificate.verified,
            seconds=round(seconds, 3),
        ),
    )


def _report_failed(metrics: Metrics, partition: TopicPartition, failure: CleaningFailure) -> None:
    metrics.counter("cordwood_cleaner_passes_total", "failed").add()
    _log.warning(
        "log not cleaned",
        extra=fields(
            partition=str(partition),
            reason=failure.reason,
            failures=failure.count,
            next_try_seconds=failure.backoff_ms / 1000,
        ),
    )


def _register_gauges(metrics: Metrics, cleaner: LogCleaner, manager: LogManager) -> None:
    """Register the gauges that are read at each scrape."""

    def idle_ms() -> float:
        return manager.ports.clock.monotonic_ms() - cleaner.last_check_ms

    def highest(of: Callable[[LogCleaner], list[float]]) -> Callable[[], Readings]:
        return lambda: {(): max(of(cleaner), default=0)}

    metrics.read("cordwood_cleaner_idle_seconds", lambda: {(): idle_ms() / 1000})
    metrics.read("cordwood_cleaner_max_dirty_ratio", highest(_dirty_ratios))
    metrics.read("cordwood_cleaner_max_delay_seconds", highest(_delays))
    metrics.read(
        "cordwood_cleaner_failing_partitions", lambda: _failing(cleaner, manager, lambda _: 1)
    )
    metrics.read(
        "cordwood_cleaner_failing_bytes",
        lambda: _failing(cleaner, manager, lambda partition: manager.logs[partition].size),
    )


def _dirty_ratios(cleaner: LogCleaner) -> list[float]:
    return [each.dirty_ratio for each in cleaner.candidates.values()]


def _delays(cleaner: LogCleaner) -> list[float]:
    return [each.overdue_ms / 1000 for each in cleaner.candidates.values()]


def _failing(
    cleaner: LogCleaner, manager: LogManager, amount: Callable[[TopicPartition], float]
) -> Readings:
    """Return the sums of `amount` over failing partitions, by log directory that is online."""
    found: dict[Labels, float] = {(each.path,): 0 for each in manager.directories if each.is_online}
    for partition in cleaner.failures:
        log = manager.logs.get(partition)
        if log is not None:
            found[manager.directory_of(log).path,] += amount(partition)
    return found
