"""Tests of a broker's log cleaner: settings, metrics and log events."""

import logging

import pytest

from cordwood.broker.cleaner_service import cleaner_config, make_cleaner
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import ALL_BROKERS
from cordwood.compaction.cleaner_config import CleanerConfig
from cordwood.compaction.cleaning_job import CleaningFailedError, Verify
from cordwood.core.settings import SettingSource
from cordwood.observability.exposition import expose
from cordwood.observability.metrics import Metrics
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.compaction.cleaner_samples import CleanerHarness

EVERY_KEY = {
    "log.cleaner.enable": "false",
    "log.cleaner.threads": "3",
    "log.cleaner.backoff.ms": "4",
    "log.cleaner.dedupe.buffer.size": "5000",
    "log.cleaner.io.buffer.size": "6000",
    "log.cleaner.io.buffer.load.factor": "0.7",
    "log.cleaner.io.max.bytes.per.second": "8",
    "cordwood.compaction.verify": "always",
}


class CleanerServiceHarness:
    """A broker's cleaner over logs in memory."""

    def __init__(self) -> None:
        self.harness = CleanerHarness()
        self.configs = BrokerConfigs(1, [])
        self.metrics = Metrics()
        self.cleaner = make_cleaner(
            self.harness.manager,
            runner=self.harness.runner,
            worker=InlineWorker(),
            configs=self.configs,
            metrics=self.metrics,
        )

    def alter(self, key: str, value: str) -> None:
        texts = self.configs.plan_alteration(
            ALL_BROKERS, [ConfigAlteration(key, AlterOperation.SET, value)]
        )
        self.configs.apply(ALL_BROKERS, texts)

    def shown(self) -> dict[str, float]:
        """Return the cleaner's metrics, without their prefix."""
        lines = [line.split(" ") for line in expose(self.metrics)]
        prefix = "cordwood_cleaner_"
        return {
            words[0].removeprefix(prefix): float(words[1])
            for words in lines
            if words[0].startswith(prefix)
        }


@pytest.fixture
def scene() -> CleanerServiceHarness:
    return CleanerServiceHarness()


def test_every_key_of_the_cleaner_acts() -> None:
    settings = cleaner_config(BrokerConfigs(1, [SettingSource("test", EVERY_KEY)]))

    assert settings == CleanerConfig(
        is_enabled=False,
        threads=3,
        backoff_ms=4,
        dedupe_buffer_bytes=5000,
        io_buffer_bytes=6000,
        load_factor=0.7,
        bytes_per_second=8,
        verify=Verify.ALWAYS,
    )


def test_cleaner_has_kafkas_defaults() -> None:
    assert cleaner_config(BrokerConfigs(1, [])) == CleanerConfig()


def test_cleaner_follows_changed_settings(scene: CleanerServiceHarness) -> None:
    scene.harness.log()
    scene.alter("log.cleaner.dedupe.buffer.size", "1000")
    scene.alter("cordwood.compaction.verify", "never")
    scene.alter("log.cleaner.io.max.bytes.per.second", "77")

    scene.cleaner.start()
    scene.harness.pass_time(0)

    (job,) = scene.harness.runner.jobs
    assert (job.memory_bytes, job.verify) == (900, Verify.NEVER)
    assert scene.harness.runner.bytes_per_second == 77


def test_pass_is_logged_and_counted(
    scene: CleanerServiceHarness, caplog: pytest.LogCaptureFixture
) -> None:
    scene.harness.log()
    scene.cleaner.start()

    with caplog.at_level(logging.INFO, "cordwood"):
        scene.harness.pass_time(0)

    shown = scene.shown()
    assert shown['passes_total{outcome="cleaned"}'] == 1
    assert (shown["read_bytes_total"], shown["kept_bytes_total"]) == (300, 100)
    assert shown["recopy_ratio"] == pytest.approx(1 / 3)
    assert (shown["pass_seconds_count"], shown["longest_pass_seconds"]) == (1, 0)
    assert [each.message for each in caplog.records] == ["log cleaned"]


def test_failed_pass_is_logged_and_counted_until_a_pass_succeeds(
    scene: CleanerServiceHarness, caplog: pytest.LogCaptureFixture
) -> None:
    log = scene.harness.log()
    scene.harness.runner.errors = [CleaningFailedError("no room")]
    scene.cleaner.start()

    scene.harness.pass_time(0)
    shown = scene.shown()
    scene.harness.pass_time()
    again = scene.shown()

    assert "log not cleaned" in [each.message for each in caplog.records]
    assert shown['passes_total{outcome="failed"}'] == 1
    assert shown['failing_partitions{directory="/a"}'] == 1
    assert shown['failing_bytes{directory="/a"}'] > log.size
    assert again['failing_partitions{directory="/a"}'] == 0


def test_dirtiest_log_and_the_longest_delay_are_shown(scene: CleanerServiceHarness) -> None:
    scene.harness.log()
    scene.harness.configure(max_compaction_lag_ms=1000)
    scene.alter("log.cleaner.threads", "0")
    scene.cleaner.start()

    scene.harness.pass_time(25_000)

    shown = scene.shown()
    assert shown["idle_seconds"] == 10
    assert (shown["max_dirty_ratio"], shown["max_delay_seconds"]) == (1, 14)
