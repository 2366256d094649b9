"""The cleaner of a broker: what its settings say, and what is told of its passes.

Every one of its settings counts for the next pass, `log.cleaner.enable` aside, which counts from
the next start on. The pace counts at once.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from cordwood.broker.configs import BrokerConfigs
from cordwood.compaction.cleaner import Cleaned, CleanerTools, LogCleaner
from cordwood.compaction.cleaner_settings import CleanerSettings
from cordwood.compaction.job import CleanerRunner, Verify
from cordwood.compaction.setbacks import Setback
from cordwood.core.ports import Worker
from cordwood.core.types import TopicPartition
from cordwood.observability.logs import fields
from cordwood.observability.metrics import Labels, Metrics, Readings
from cordwood.storage.manager import LogManager

_log = logging.getLogger(__name__)


class CleaningMachine(NamedTuple):
    """What runs the passes of a cleaner, and where they are waited for."""

    runner: CleanerRunner
    worker: Worker


_CHANGING: Final = (
    "log.cleaner.threads",
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.max.bytes.per.second",
    "cordwood.compaction.verify",
)


def cleaner_settings(configs: BrokerConfigs) -> CleanerSettings:
    """Return what the settings say now."""
    return CleanerSettings(
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
    manager: LogManager, machine: CleaningMachine, *, configs: BrokerConfigs, metrics: Metrics
) -> LogCleaner:
    """Return the cleaner of a manager's logs, which goes by the settings as they change."""
    tools = CleanerTools(
        runner=machine.runner,
        worker=machine.worker,
        cleaned=partial(_tell_cleaned, metrics),
        failed=partial(_tell_failed, metrics),
    )
    cleaner = LogCleaner(manager, tools, cleaner_settings(configs))
    configs.on_change(_CHANGING, lambda: cleaner.adopt(cleaner_settings(configs)))
    _feed(metrics, cleaner, manager)
    return cleaner


def _tell_cleaned(metrics: Metrics, cleaned: Cleaned) -> None:
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
            end=cleaned.certificate.end,
            bytes_before=counts.bytes_read,
            bytes_after=counts.bytes_kept,
            records_before=counts.records_read,
            records_after=counts.records_kept,
            verified=cleaned.certificate.verified,
            seconds=round(seconds, 3),
        ),
    )


def _tell_failed(metrics: Metrics, partition: TopicPartition, setback: Setback) -> None:
    metrics.counter("cordwood_cleaner_passes_total", "failed").add()
    _log.warning(
        "log not cleaned",
        extra=fields(
            partition=str(partition),
            reason=setback.reason,
            failures=setback.count,
            next_try_seconds=setback.wait_ms / 1000,
        ),
    )


def _feed(metrics: Metrics, cleaner: LogCleaner, manager: LogManager) -> None:
    """Let metrics say what can be read at any time."""

    def idle_ms() -> float:
        return manager.tools.clock.monotonic_ms() - cleaner.last_look_ms

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
    return [each.dirty_ratio for each in cleaner.assessed.values()]


def _delays(cleaner: LogCleaner) -> list[float]:
    return [each.overdue_ms / 1000 for each in cleaner.assessed.values()]


def _failing(
    cleaner: LogCleaner, manager: LogManager, amount: Callable[[TopicPartition], float]
) -> Readings:
    """Return how much is failing, by log directory; each directory that can be used has a line."""
    found: dict[Labels, float] = {(each.path,): 0 for each in manager.directories if each.is_online}
    for partition in cleaner.setbacks:
        log = manager.logs.get(partition)
        if log is not None:
            found[manager.directory_of(log).path,] += amount(partition)
    return found
