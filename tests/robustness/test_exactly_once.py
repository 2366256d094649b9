"""A pipeline in transactions, through kills of it and of its broker: each record comes out once.

The same kills of a pipeline that commits its offsets after its output give duplicates, so the kills
do fall where they can do harm.
"""

import os
import random
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

import cordwood
from tests.interop.kafka_harness.installed import peer
from tests.robustness.pipeline_kills import (
    PARTITIONS,
    PipelineChaos,
    PipelineProcess,
    Victim,
    output_of,
    planned,
)
from tests.robustness.pipelines import INPUT, OUTPUT, PIPELINES, STEPS, transformed
from tests.serving import CORDWOOD, Serving, ended_with

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
KILLS: Final = 100 if SOAK else 12
#: Kills of the pipeline alone, before each step and in it, that show duplicates.
FEW_KILLS: Final = 2 * len(STEPS["at_least_once"])
#: Its first twelve kills have each victim four times, each step twice, and every victim at commit.
SEED: Final = 35
SETTINGS: Final = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}

CLIENTS: Final = tuple(PIPELINES)

pytestmark = pytest.mark.timeout(7200 if SOAK else 600)


def create_topics(bootstrap: str) -> None:
    with cordwood.Admin(bootstrap) as admin:
        for topic in (INPUT, OUTPUT):
            admin.create_topic(topic, partitions=PARTITIONS)


def survived(
    client: str, semantics: str, victims: Iterable[Victim], *, count: int, folder: Path
) -> tuple[list[list[bytes]], list[list[bytes]], str]:
    """Kill a pipeline and its broker; return the wanted output, the output, and the kills."""
    if client == "librdkafka":
        peer("confluent_kafka")
    chance = random.Random(SEED)
    kills = planned(victims, STEPS[semantics], count=count, chance=chance)
    with ended_with(Serving(folder, SETTINGS, program=CORDWOOD)) as broker:
        broker.start()
        create_topics(broker.address)
        pipeline = PipelineProcess(client, semantics)
        with closing(PipelineChaos(broker, pipeline, chance)) as chaos:
            given = chaos.survive(kills)
        found = output_of(broker)
        assert broker.stop() == 0
    wanted = [[transformed(value) for value in values] for values in given]
    return wanted, found, str(chaos)


def in_all(output: list[list[bytes]]) -> int:
    return sum(map(len, output))


@pytest.mark.parametrize("client", CLIENTS)
def test_transactions_give_each_record_once(
    client: str, tmp_path: Path, report: Callable[[str], None]
) -> None:
    wanted, found, done = survived(client, "exactly_once", Victim, count=KILLS, folder=tmp_path)

    report(f"exactly once, {client}: {in_all(wanted)} records in, {in_all(found)} out; {done}")
    assert found == wanted


@pytest.mark.parametrize("client", CLIENTS)
def test_commits_after_the_output_give_duplicates(
    client: str, tmp_path: Path, report: Callable[[str], None]
) -> None:
    victims, count = (Victim, KILLS) if SOAK else ((Victim.PIPELINE,), FEW_KILLS)
    wanted, found, done = survived(client, "at_least_once", victims, count=count, folder=tmp_path)

    report(f"at least once, {client}: {in_all(wanted)} records in, {in_all(found)} out; {done}")
    assert list(map(set, found)) == list(map(set, wanted))
    assert in_all(found) > in_all(wanted)
