"""Kafka 4.3 takes a directory over from a broker of ours that was killed, repeatedly.

The logs are not closed in between, so Kafka recovers them: it serves all acknowledged records, in
order, once.
"""

import random
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.interop.kafka_harness.brokers import kraft_broker, running
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.robustness.ledger import Ledgers
from tests.robustness.partitions import SEED, SETTINGS, WINDOW, create_topics, read_all
from tests.robustness.producing import SENDERS, producing
from tests.serving import CORDWOOD, PATIENCE_S, Serving, ended_with

KILLS: Final = 3

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]


def killed(broker: Serving) -> Ledgers:
    """Kill a broker under a producer, and once more after it; return what was acknowledged."""
    chance = random.Random(SEED)
    broker.start()
    ledgers = Ledgers(create_topics(broker.address), window=WINDOW)
    with producing(SENDERS["own"](broker.address), ledgers, random.Random(SEED)):
        for _ in range(KILLS):
            assert ledgers.wait_for(ledgers.acknowledged + chance.randint(1, 1_000), PATIENCE_S)
            broker.kill()
            broker.start()
    broker.kill()
    return ledgers


def test_kafka_serves_records_acknowledged_before_kills(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path: Path
) -> None:
    with ended_with(Serving(tmp_path, SETTINGS)) as broker:
        ledgers = killed(broker)
    (logs,) = broker.data
    kafka = kraft_broker(kafka43_jars, tmp_path, kafka43)
    shutil.rmtree(kafka.logs)
    logs.rename(kafka.logs)
    subprocess.run([*CORDWOOD, "log", "adopt", "--to-kafka", kafka.logs], check=True, timeout=60)

    with running(kafka):
        found = {partition: read_all(kafka.bootstrap, partition) for partition in ledgers.of}

    assert ledgers.acknowledged == sum(map(len, found.values()))
    for partition, ledger in ledgers.of.items():
        assert ledger.compare(found[partition]) == []
