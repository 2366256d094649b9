"""Kafka's measuring tools, with their own threads and settings, run through against our broker."""

import re
import subprocess
from pathlib import Path

import pytest

import cordwood
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.client import LATEST
from tests.interop.kafka_harness.client_tools import TOOLS, ToolsClient
from tests.interop.kafka_harness.features import Place, texts
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.patience import PATIENCE_S
from tests.interop.kafka_harness.spec import Json, record_to_json

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

RECORDS = 20_000


@pytest.mark.parametrize("codec", ("none", "lz4"))
def test_producer_performance_sends_everything(
    our_broker: Broker, kafka43_jars: Jars, tmp_path: Path, codec: str
) -> None:
    topic = f"performance-{codec}"
    our_broker.create_topics({topic: {}})
    tools = ToolsClient(our_broker.bootstrap, kafka43_jars, tmp_path)

    said = tools.run(
        f"{TOOLS}ProducerPerformance",
        f"--topic={topic}",
        f"--num-records={RECORDS}",
        "--record-size=100",
        "--throughput=-1",
        "--command-property",
        "acks=all",
        f"compression.type={codec}",
    )

    assert f"{RECORDS} records sent" in said
    assert tools.offset(topic, LATEST) == RECORDS


def test_producer_performance_commits_transactions_of_version_2(
    our_broker: Broker, kafka43_jars: Jars, tmp_path: Path
) -> None:
    """Java 4 adds partitions implicitly and takes a new epoch with the end of each transaction."""
    our_broker.create_topics({"transactions": {}})
    tools = ToolsClient(our_broker.bootstrap, kafka43_jars, tmp_path)

    said = tools.run(
        f"{TOOLS}ProducerPerformance",
        "--topic=transactions",
        f"--num-records={RECORDS}",
        "--record-size=100",
        "--throughput=-1",
        "--transactional-id=performance",
        "--transaction-duration-ms=50",
        "--command-property",
        "acks=all",
    )
    with cordwood.Consumer(our_broker.bootstrap, isolation_level="read_committed") as consumer:
        consumer.assign([("transactions", 0)])
        consumer.seek_to_beginning()
        count = 0
        while count < RECORDS:
            found = consumer.poll(5_000)
            assert found, "the last stable offset does not move"
            count += len(found)

    assert f"{RECORDS} records sent" in said
    assert tools.offset("transactions", LATEST) > RECORDS, "there are markers"


def test_end_to_end_latency_ends_without_an_error(our_broker: Broker, kafka43_jars: Jars) -> None:
    """The tool commits offsets when it has measured."""
    our_broker.create_topics({"latency": {}})
    words = ["--topic=latency", "--num-records=200", "--producer-acks=all", "--record-size=1024"]

    said = _ended(our_broker, kafka43_jars, f"{TOOLS}EndToEndLatency", *words)

    assert re.search(r"Avg latency: [\d.]+ ms", said)


def test_consumer_performance_ends_without_an_error(our_broker: Broker, kafka43_jars: Jars) -> None:
    """The tool is a member of a group."""
    our_broker.create_topics({"consumed": {}})
    with cordwood.Producer(our_broker.bootstrap) as producer:
        for _ in range(2_000):
            producer.send("consumed", bytes(100))

    said = _ended(
        our_broker,
        kafka43_jars,
        f"{TOOLS}ConsumerPerformance",
        "--topic=consumed",
        "--num-records=2000",
        "--timeout=100000",
    )

    assert said.splitlines()[-1].split(", ")[4] == "2000"


def test_transactions_command_aborts_a_transaction(
    our_broker: Broker, kafka43_jars: Jars, tmp_path: Path
) -> None:
    our_broker.create_topics({"open": {}})
    place = Place(broker=our_broker, topic="open")
    producer = place.ask("transaction_open", id="open")
    place.ask("transaction_begin", producer=producer)
    records: list[Json] = [record_to_json(texts(1)[0])]
    place.ask("transaction_send", producer=producer, topic="open", records=records)
    tools = ToolsClient(our_broker.bootstrap, kafka43_jars, tmp_path)
    partition = ["--topic", "open", "--partition", "0"]

    before = _starts(tools, partition)
    hanging = tools.run(f"{TOOLS}TransactionsCommand", "find-hanging", "--broker-id", "1")
    tools.run(f"{TOOLS}TransactionsCommand", "abort", *partition, "--start-offset", "0")

    assert before == ["0"]
    assert len(hanging.splitlines()) == 1, "it has not been open for long"
    assert _starts(tools, partition) == ["None"]
    place.ask("transaction_close", producer=producer)


def _starts(tools: ToolsClient, partition: list[str]) -> list[str]:
    """Return the start of the open transaction of each producer of a partition."""
    said = tools.run(f"{TOOLS}TransactionsCommand", "describe-producers", *partition)
    names, *rows = (line.split() for line in said.splitlines())
    return [row[names.index("CurrentTransactionStartOffset")] for row in rows]


def _ended(broker: Broker, jars: Jars, main_class: str, *arguments: str) -> str:
    """Return the output of a tool that has ended well, and has logged neither error nor warning."""
    command = jars.command(main_class, "--bootstrap-server", broker.bootstrap, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout
