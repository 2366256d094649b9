"""The cleaner of a broker goes by its settings, as they are and as they change, and is shown."""

import logging

import pytest

from cordwood.broker.alterations import Alteration, Operation
from cordwood.broker.cleaning import CleaningMachine, cleaner_settings, make_cleaner
from cordwood.broker.config_resources import ALL_BROKERS
from cordwood.broker.configs import BrokerConfigs
from cordwood.compaction.cleaner_settings import CleanerSettings
from cordwood.compaction.job import CleaningFailedError, Verify
from cordwood.core.settings import Source
from cordwood.observability.exposition import expose
from cordwood.observability.metrics import Metrics
from cordwood.testing.worker import InlineWorker
from tests.unit.compaction.cleaner_samples import Home

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


class Scene:
    """A broker's cleaner over logs in memory."""

    def __init__(self) -> None:
        self.home = Home()
        self.configs = BrokerConfigs(1, [])
        self.metrics = Metrics()
        self.cleaner = make_cleaner(
            self.home.manager,
            CleaningMachine(self.home.runner, InlineWorker()),
            configs=self.configs,
            metrics=self.metrics,
        )

    def alter(self, key: str, value: str) -> None:
        texts = self.configs.altered(ALL_BROKERS, [Alteration(key, Operation.SET, value)])
        self.configs.apply(ALL_BROKERS, texts)

    def shown(self) -> dict[str, float]:
        """Return what is shown of the cleaner, without its prefix."""
        lines = [line.split(" ") for line in expose(self.metrics)]
        prefix = "cordwood_cleaner_"
        return {
            words[0].removeprefix(prefix): float(words[1])
            for words in lines
            if words[0].startswith(prefix)
        }


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_every_key_of_the_cleaner_acts() -> None:
    settings = cleaner_settings(BrokerConfigs(1, [Source("test", EVERY_KEY)]))

    assert settings == CleanerSettings(
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
    assert cleaner_settings(BrokerConfigs(1, [])) == CleanerSettings()


def test_cleaner_goes_by_settings_that_change(scene: Scene) -> None:
    scene.home.log()
    scene.alter("log.cleaner.dedupe.buffer.size", "1000")
    scene.alter("cordwood.compaction.verify", "never")
    scene.alter("log.cleaner.io.max.bytes.per.second", "77")

    scene.cleaner.start()
    scene.home.pass_time(0)

    (job,) = scene.home.runner.jobs
    assert (job.memory_bytes, job.verify) == (900, Verify.NEVER)
    assert scene.home.runner.bytes_per_second == 77


def test_pass_is_told_and_counted(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.home.log()
    scene.cleaner.start()

    with caplog.at_level(logging.INFO, "cordwood"):
        scene.home.pass_time(0)

    shown = scene.shown()
    assert shown['passes_total{outcome="cleaned"}'] == 1
    assert (shown["read_bytes_total"], shown["kept_bytes_total"]) == (300, 100)
    assert shown["recopy_ratio"] == pytest.approx(1 / 3)
    assert (shown["pass_seconds_count"], shown["longest_pass_seconds"]) == (1, 0)
    assert [each.message for each in caplog.records] == ["log cleaned"]


def test_failed_pass_is_told_and_shown_until_it_goes_well(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    log = scene.home.log()
    scene.home.runner.errors = [CleaningFailedError("no room")]
    scene.cleaner.start()

    scene.home.pass_time(0)
    shown = scene.shown()
    scene.home.pass_time()
    again = scene.shown()

    assert "log not cleaned" in [each.message for each in caplog.records]
    assert shown['passes_total{outcome="failed"}'] == 1
    assert shown['failing_partitions{directory="/a"}'] == 1
    assert shown['failing_bytes{directory="/a"}'] > log.size
    assert again['failing_partitions{directory="/a"}'] == 0


def test_dirtiest_log_and_the_longest_delay_are_shown(scene: Scene) -> None:
    scene.home.log()
    scene.home.configure(max_compaction_lag_ms=1000)
    scene.alter("log.cleaner.threads", "0")
    scene.cleaner.start()

    scene.home.pass_time(25_000)

    shown = scene.shown()
    assert shown["idle_seconds"] == 10
    assert (shown["max_dirty_ratio"], shown["max_delay_seconds"]) == (1, 14)
