"""`cordwood bench` as it is called."""

import json

import pytest

from tests.unit.cli.commands import Command


@pytest.fixture(autouse=True)
def _topic(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")


@pytest.mark.parametrize("rate", ((), ("--throughput=100000",)))
def test_produce_is_measured_and_all_of_it_arrives(command: Command, rate: tuple[str, ...]) -> None:
    load = ("--topic=a", "--num-records=20", "--record-size=10")

    told = json.loads(command("bench", "produce", *load, *rate, "--json").out)

    assert (told["records"], told["bytes"]) == (20, 200)
    assert told["latency_ms"]["50%"] <= told["latency_ms"]["longest"]


@pytest.mark.parametrize("columns", ((), ("--columns",)))
def test_consume_is_measured(command: Command, columns: tuple[str, ...]) -> None:
    command("bench", "produce", "--topic=a", "--num-records=20", "--record-size=10")

    told = json.loads(
        command("bench", "consume", "--topic=a", "--num-records=20", *columns, "--json").out
    )

    assert told["records"] == 20
    assert told["bytes"] >= 200
    assert told["latency_ms"] is None


def test_consume_ends_when_nothing_comes(command: Command) -> None:
    said = command("bench", "consume", "--topic=a", "--timeout-ms=1")

    assert said.out.startswith("0 records, 0 bytes in ")


def test_latency_is_measured_one_by_one(command: Command) -> None:
    said = command("bench", "latency", "--topic=a", "--num-records=3", "--acks=1")

    assert said.out.startswith("3 records, 300 bytes in ")
    assert "\nlatency in ms: average " in said.out


@pytest.mark.parametrize("verb", ("consume", "latency"))
def test_bench_refuses_a_topic_that_there_is_not(command: Command, verb: str) -> None:
    assert command("bench", verb, "--topic=b").code == 1
