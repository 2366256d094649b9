"""`cordwood bench` as it is called."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from cordwood.cli import bench, bench_run
from tests.unit.cli.commands import Command


@pytest.fixture(autouse=True)
def _topic(command: Command) -> None:
    command("topics", "create", "--topic", "a", "--partitions=1")


@pytest.mark.parametrize("rate", ((), ("--throughput=100000",)))
def test_produce_is_measured_and_all_of_it_arrives(command: Command, rate: tuple[str, ...]) -> None:
    load = ("--topic=a", "--num-records=20", "--record-size=10")

    parsed = json.loads(command("bench", "produce", *load, *rate, "--json").out)

    assert (parsed["records"], parsed["bytes"]) == (20, 200)
    assert parsed["latency_ms"]["50%"] <= parsed["latency_ms"]["longest"]


@pytest.mark.parametrize("columns", ((), ("--columns",)))
def test_consume_is_measured(command: Command, columns: tuple[str, ...]) -> None:
    command("bench", "produce", "--topic=a", "--num-records=20", "--record-size=10")

    parsed = json.loads(
        command("bench", "consume", "--topic=a", "--num-records=20", *columns, "--json").out
    )

    assert parsed["records"] == 20
    assert parsed["bytes"] >= 200
    assert parsed["latency_ms"] is None


def test_consume_stops_at_the_timeout(command: Command) -> None:
    result = command("bench", "consume", "--topic=a", "--timeout-ms=1")

    assert result.out.startswith("0 records, 0 bytes in ")


def test_consume_of_too_few_records_is_an_error_and_does_not_count_the_wait(
    command: Command,
) -> None:
    command("bench", "produce", "--topic=a", "--num-records=20", "--record-size=10")
    how = ("--topic=a", "--num-records=21", "--timeout-ms=1500")

    result = command("bench", "consume", *how, "--json")

    assert result.code == 1
    assert result.err.startswith("a: only 20 records of 21 arrived; the wait of 1,500 ms")
    assert json.loads(result.out)["seconds"] < 1.5  # the wait alone is that long


def test_latency_is_measured_one_by_one(command: Command) -> None:
    result = command("bench", "latency", "--topic=a", "--num-records=3", "--acks=1")

    assert result.out.startswith("3 records, 300 bytes in ")
    assert "\nlatency in ms: average " in result.out


@pytest.mark.parametrize("verb", ("consume", "latency"))
def test_bench_rejects_a_missing_topic(command: Command, verb: str) -> None:
    assert command("bench", verb, "--topic=b").code == 1


@pytest.mark.parametrize("verb", ("produce", "consume"))
def test_bench_shows_its_progress(
    command: Command, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("bench", "produce", "--topic=a", "--num-records=20")
    shown: list[int] = []

    @contextmanager
    def progress(total: int, **_: object) -> Iterator[Callable[[int], None]]:
        shown.append(total)
        yield shown.append

    monkeypatch.setattr(bench, "show_progress", progress)
    monkeypatch.setattr(bench_run, "_SHOWN_EVERY", 10)
    command("bench", verb, "--topic=a", "--num-records=20")

    assert shown == [20, *([10, 10] if verb == "produce" else [20])]
