"""Loop of `kill -9` at random moments: every acknowledged record survives.

Producers write to a topic with an fsync before each acknowledgement and to one without; a killed
process loses no record of either. The loop kills the broker after a random number of further
acknowledgements, with records in flight, or during its startup. At the end the test reads the logs,
stops the broker and verifies the directory.

Brokers with a planted mistake (`plants`) and a truncated log prove that the loop finds a loss.
"""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from cordwood.storage.files.header_scan import headers
from tests.interop.kafka_harness.installed import peer
from tests.robustness.ledger import Ledgers
from tests.robustness.partitions import (
    FLUSHED,
    ROUNDS,
    SEED,
    SETTINGS,
    WINDOW,
    create_topics,
    read_all,
)
from tests.robustness.producing import SENDERS, producing
from tests.serving import CORDWOOD, PATIENCE_S, Serving, ended_with

ROUNDS_TO_FIND: Final = 8

pytestmark = pytest.mark.timeout(1800)


@dataclass
class InjectedKills:
    """The kills of a broker."""

    killed_serving: int = 0
    killed_starting: int = 0
    on_their_way: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.killed_serving} kills while serving, with {min(self.on_their_way, default=0)} "
            f"to {max(self.on_their_way, default=0)} records on their way, "
            f"{self.killed_starting} while starting"
        )


def die(broker: Serving, ledgers: Ledgers, chance: random.Random, injected: InjectedKills) -> None:
    """Kill a broker at a random moment."""
    more = ledgers.acknowledged + chance.randint(1, 3 * WINDOW)
    assert ledgers.wait_for(more, PATIENCE_S), "nothing is acknowledged any more"
    broker.kill()
    sent = sum(ledger.sent for ledger in ledgers.of.values())
    injected.on_their_way.append(sent - ledgers.acknowledged)
    injected.killed_serving += 1
    while chance.random() < 0.3:
        broker.launch()
        broker.is_over(chance.uniform(0, broker.took_to_start_s))
        broker.kill()
        injected.killed_starting += 1


def survive(
    broker: Serving, client: str, rounds: int, *, between: Callable[[], object] = lambda: None
) -> tuple[list[str], str]:
    """Kill a broker in rounds; return the differences at the end, and the kills."""
    chance, injected = random.Random(SEED), InjectedKills()
    broker.start()
    ledgers = Ledgers(create_topics(broker.address), window=WINDOW)
    with producing(SENDERS[client](broker.address), ledgers, random.Random(SEED)):
        for _ in range(rounds):
            die(broker, ledgers, chance, injected)
            between()
            broker.start()
    faults = [
        f"{partition}: {fault}"
        for partition, ledger in ledgers.of.items()
        for fault in ledger.compare(read_all(broker.address, partition))
    ]
    given_up = sum(len(ledger.given_up) for ledger in ledgers.of.values())
    done = f"{ledgers.acknowledged} records acknowledged, {given_up} given up; {injected}"
    return faults, f"{done}; {broker.told('truncated')} logs with an incomplete tail"


def verified(paths: Sequence[Path]) -> tuple[int, str]:
    """Return the result of `cordwood log verify` for directories."""
    command = (*CORDWOOD, "log", "verify", *map(str, paths))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("client", SENDERS)
def test_acknowledged_records_survive_kills(
    client: str, tmp_path: Path, report: Callable[[str], None]
) -> None:
    if client == "librdkafka":
        peer("confluent_kafka")
    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        faults, done = survive(broker, client, ROUNDS)
        report(f"kill, {client}: {done}")
        code = broker.stop()

    assert faults == []
    assert code == 0
    assert verified(broker.data)[0] == 0


@pytest.mark.parametrize("mistake", ("late_writes", "forgotten_producers"))
def test_loop_finds_a_broker_that_loses_or_duplicates_records(
    mistake: str, tmp_path: Path, report: Callable[[str], None]
) -> None:
    program = (sys.executable, "-m", "tests.robustness.plants", mistake)
    with ended_with(Serving(tmp_path, SETTINGS, program=program)) as broker:
        faults, done = survive(broker, "own", ROUNDS_TO_FIND)

    report(f"kill, {mistake}: {done}; found {faults}")
    assert faults


def promised_end(log: bytes) -> int:
    """Return the end offset of the last batch that must have been acknowledged (by the window)."""
    batches = list(headers(lambda length, at: log[at : at + length], 0, len(log)))
    behind = 0
    for batch in reversed(batches):
        if behind >= WINDOW:
            return batch.end
        behind += batch.record_count
    return batches[0].end


def test_loop_finds_a_tail_that_was_dropped(tmp_path: Path, report: Callable[[str], None]) -> None:
    def drop() -> None:
        newest = max((tmp_path / "data" / f"{FLUSHED}-0").glob("*.log"))
        os.truncate(newest, promised_end(newest.read_bytes()) - 1)

    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        faults, done = survive(broker, "own", ROUNDS_TO_FIND, between=drop)

    report(f"kill, dropped tail: {done}; found {faults}")
    assert faults
