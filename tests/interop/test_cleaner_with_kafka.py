"""Kafka's own cleaner and ours clean the same logs, and leave the same batches and records.

Random lives of compacted logs, with every kind of batch and record, are cleaned repeatedly while
time passes. Every pass begins with the output of one of the two cleaners. Our passes alternate
between the plain engine and the kernels. `cleaned_logs` lists the compared fields. The seed is the
test's.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.engine.plain_engine import PLAIN
from tests.interop.kafka_harness.cleaned_logs import segments_of
from tests.interop.kafka_harness.cleaned_twins import CleanedTwins
from tests.interop.kafka_harness.compacted_lives import RETENTION_MS, CompactedLife, Kind
from tests.interop.kafka_harness.dumper import Dumper
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.kafka_logs import KafkaLogs

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SEEDS: Final = 20
STAGES: Final = 4
CONFIG: Final = {
    "cleanup.policy": "compact",
    "delete.retention.ms": str(RETENTION_MS),
    "internal.segment.bytes": "4000",
    "segment.index.bytes": "400",
    "message.timestamp.after.max.ms": "9223372036854775807",
}
KINDS: Final = (Kind(), Kind(has_legacy=True), Kind(has_deletions=True))
SETTINGS: Final = (
    {"index.interval.bytes": "300"},
    {"index.interval.bytes": "0", "segment.index.bytes": "240"},
    {"message.timestamp.type": "LogAppendTime"},
    {"min.compaction.lag.ms": "30000"},
)

FINE: Final = (" passed sanity check.", " is empty.")


class Lived(NamedTuple):
    """The counts of our passes, the differences between the cleaners, and both logs."""

    counted: Counter[str]
    found: list[str]
    folder: Path


@pytest.fixture(scope="module")
def lives(kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Lived]]:
    """Of each life what our passes counted, and where the cleaners did not leave the same."""
    from cordwood.compaction.kernels.kernel_engine import KERNELS  # noqa: PLC0415  # once compiled

    folder = tmp_path_factory.mktemp("cleaned")
    kafka_logs = KafkaLogs(kafka43_jars, folder)
    engines = (PLAIN, KERNELS)
    yield [live(seed, kafka_logs, folder / str(seed), engines) for seed in range(SEEDS)]
    kafka_logs.close()


@pytest.fixture(scope="module")
def dumper(kafka43_jars: Jars, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dumper]:
    started = Dumper(kafka43_jars, tmp_path_factory.mktemp("dumper"))
    yield started
    started.close()


def live(seed: int, kafka_logs: KafkaLogs, folder: Path, engines: Sequence[Engine]) -> Lived:
    kind, setting = KINDS[seed % len(KINDS)], SETTINGS[seed % len(SETTINGS)]
    twins = CleanedTwins(kafka_logs, folder, CompactedLife(seed, CONFIG | setting, kind))
    counted: Counter[str] = Counter()
    found: list[str] = []
    for stage in range(STAGES):
        twins.live_on()
        done = twins.clean(engines[(seed + stage) % len(engines)])
        found += [f"pass {stage}, {each}" for each in done.found]
        if done.ours is not None and done.ours.certificate is not None:
            assert done.ours.end == done.theirs.end
            assert done.ours.first_dirty == done.theirs.first_dirty
            counted.update(asdict(done.ours.certificate.counts))
            counted["passes"] += 1
            counted["grouped"] += any(len(group) > 1 for group in done.ours.groups)
    for segment in segments_of(twins.ours, log_start=0).values():
        counted["horizons"] += sum(
            batch.delete_horizon_ms is not None for batch in segment.batches.values()
        )
    return Lived(counted, found, folder)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_cleaners_leave_the_same(lives: list[Lived], seed: int) -> None:
    found = lives[seed].found

    assert not found, "\n".join(found)


def test_lives_had_everything_in_them_that_cleaning_is_about(lives: list[Lived]) -> None:
    counted = sum((each.counted for each in lives), Counter[str]())

    wanted = (
        *("batches_copied", "batches_emptied", "superseded", "unkeyed", "aborted", "grouped"),
        *("tombstones_kept", "tombstones_dropped", "markers_kept", "markers_dropped", "horizons"),
    )
    assert all(counted[each] >= SEEDS for each in wanted), counted
    assert counted["passes"] > 0.8 * SEEDS * STAGES


@pytest.mark.parametrize("option", ("--index-sanity-check", "--verify-index-only"))
def test_kafkas_dump_finds_the_same_in_the_indexes_of_both_cleaners(
    lives: list[Lived], dumper: Dumper, option: str
) -> None:
    """That is nothing, but where a batch without records has a time: the tool looks at records."""
    ours, theirs = (complaints(dumper, option, lives, side) for side in ("ours", "theirs"))

    assert ours == theirs


def complaints(dumper: Dumper, option: str, lives: list[Lived], side: str) -> list[str]:
    """Return what Kafka's tool does not find fine in one side's indexes."""
    found = [(lived.folder / side / "t-0").glob("*[.e]index") for lived in lives]
    files = [path for paths in found for path in sorted(paths)]
    assert len(files) > 20 * SEEDS
    dumped = dumper.dump(option, files=files)
    assert not dumped.has_failed
    lines = dumped.out.decode().splitlines()
    wrong = [line for line in lines if not line.startswith("Dumping") and not line.endswith(FINE)]
    return sorted((*wrong, *dumped.err.decode().replace(f"/{side}/", "/").splitlines()))
