"""Kafka's cleaner and ours make the same choice: range, dirty ratio, due time, segment groups.

In random lives of a log both are asked at each step: with a checkpoint that may be wrong, at a time
that may be later, with room in segments for some of them.
"""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.kafka_logs import Choice, KafkaLogs
from tests.interop.kafka_harness.log_runs import Life
from tests.interop.kafka_harness.our_logs import OurLogs
from tests.interop.kafka_harness.spec import Json

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

STEPS: Final = 200
LAGS_MS: Final = (0, 1_000, 20_000, 200_000)
#: After these Kafka takes decided transactions for undecided, or the reverse (`log_twins`).
CUTS: Final = frozenset({"truncate", "truncate_fully", "crash"})


@pytest.fixture(scope="module")
def kafka_logs(kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaLogs]:
    started = KafkaLogs(kafka43_jars, tmp_path_factory.mktemp("kafka-logs"))
    yield started
    started.close()


def config_of(chance: random.Random, seed: int) -> dict[str, str]:
    longest = chance.choice((*LAGS_MS[1:], (1 << 63) - 1))
    return {
        "internal.segment.bytes": "2000",
        "index.interval.bytes": "100",
        "cleanup.policy": chance.choice(("compact", "compact,delete")),
        "retention.bytes": "20000",
        "min.compaction.lag.ms": str(min(longest, LAGS_MS[seed % len(LAGS_MS)])),
        "max.compaction.lag.ms": str(longest),
        "message.timestamp.after.max.ms": "9223372036854775807",
    }


def asked_of(chance: random.Random, log_end: int, now_ms: int) -> dict[str, Json]:
    """Return a question: of a checkpoint, a time, and the room that there is in a segment."""
    return {
        "checkpoint": chance.randint(-1, log_end + 2),
        "now_ms": now_ms + chance.choice((0, 500, 20_000, 300_000)),
        "segment_bytes": chance.choice((1, 2_000, 4_000, 9_000)),
        "index_bytes": chance.choice((8, 200, 1 << 20)),
    }


def kinds_of(choice: Choice) -> Iterator[str]:
    """Yield the kinds of a choice, so that a run can count whether it has met each kind."""
    yield "cleaned" if choice.cleanable_bytes else "not cleaned"
    if choice.clean_bytes and choice.cleanable_bytes:
        yield "partly clean"
    if choice.overdue_ms:
        yield "overdue"
    if any(len(group) > 1 for group in choice.groups):
        yield "grouped"


@pytest.mark.parametrize("seed", range(8))
def test_cleaners_choose_the_same_logs_and_ranges(
    kafka_logs: KafkaLogs, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    life, ours = Life(seed, config_of(chance, seed), without=CUTS), OurLogs()
    directories = tmp_path / "kafka" / "t-0", tmp_path / "ours" / "t-0"
    for directory in directories:
        directory.parent.mkdir()
    theirs_in, ours_in = directories
    seen: Counter[str] = Counter()

    for number in range(STEPS):
        asked, question = life.next_step()
        answer = kafka_logs.ask(asked, theirs_in, question)
        is_alike = ours.ask(asked, ours_in, question).last_stable == answer.last_stable
        life.learn(asked, answer)
        if asked != "close" and is_alike:
            of_both = asked_of(chance, answer.log_end, int(str(question["now_ms"])))
            choice = kafka_logs.choose(theirs_in, of_both)
            assert ours.choose(ours_in, of_both) == choice, (seed, number, of_both)
            seen.update(kinds_of(choice))

    assert {"cleaned", "not cleaned", "partly clean", "grouped"} <= seen.keys(), seen
