"""The same calls to Kafka's log and to ours leave the same files, byte for byte.

Both run random lives of a log: appends as a leader and as a follower, producers and transactions,
retries and rejected appends, rolls, truncations, stops and crashes. All files of both directories
are compared after every step; `log_twins` lists the exceptions. On a difference the seed and all
steps up to it are printed.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.kafka_logs import KafkaLogs
from tests.interop.kafka_harness.log_runs import Life
from tests.interop.kafka_harness.log_twins import Twins

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

STEPS: Final = 250
SMALL: Final = {
    "internal.segment.bytes": "6000",
    "segment.index.bytes": "400",
    "message.timestamp.after.max.ms": "9223372036854775807",
}


@pytest.fixture(scope="module")
def kafka_logs(kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaLogs]:
    started = KafkaLogs(kafka43_jars, tmp_path_factory.mktemp("kafka-logs"))
    yield started
    started.close()


def live(life: Life, twins: Twins) -> set[str]:
    """Let both live a life; return the kinds of files that it has seen."""
    seen: set[str] = set()
    for number in range(STEPS):
        asked, question = life.next_step() if number < STEPS - 1 else life.last_step()
        step = f"seed {life.seed}, step {number}: {asked} {question}"
        sys.stdout.write(f"{step}\n")
        life.learn(asked, twins.step(asked, question, step))
        seen |= {path.suffix for path in twins.ours.iterdir()}
    return seen


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("interval", (0, 100, 300, 4096))
def test_files_are_the_same_at_any_index_interval(
    kafka_logs: KafkaLogs, tmp_path: Path, interval: int, seed: int
) -> None:
    config = {**SMALL, "index.interval.bytes": str(interval)}

    seen = live(Life(1000 * interval + seed, config), Twins(kafka_logs, tmp_path))

    assert {".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".deleted"} <= seen


@pytest.mark.parametrize(
    "setting",
    (
        {"message.timestamp.type": "LogAppendTime"},
        {"compression.type": "lz4"},
        {"compression.type": "uncompressed"},
        {"segment.ms": "9000"},
        {"retention.bytes": "9000"},
        {"retention.ms": "60000"},
        {"cleanup.policy": "compact"},
        {"flush.messages": "1"},
        {"max.message.bytes": "700"},
        {"preallocate": "true"},
    ),
    ids=lambda setting: "-".join(map("-".join, setting.items())),
)
def test_files_are_the_same_with_a_setting(
    kafka_logs: KafkaLogs, tmp_path: Path, setting: dict[str, str]
) -> None:
    config = {**SMALL, "index.interval.bytes": "300", **setting}

    seen = live(Life(7, config), Twins(kafka_logs, tmp_path))

    assert ".deleted" in seen


def test_files_are_the_same_when_indexes_fill_up(kafka_logs: KafkaLogs, tmp_path: Path) -> None:
    """Where several batches at once, or recovery, fill an index, Kafka cannot go on."""
    config = {**SMALL, "index.interval.bytes": "0", "segment.index.bytes": "67"}
    life = Life(8, config, without=frozenset({"follow", "crash"}))

    seen = live(life, Twins(kafka_logs, tmp_path))

    assert ".deleted" in seen
