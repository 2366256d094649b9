"""Kafka's measuring tools, with their own threads and settings, run through against our broker."""

import re
import subprocess
from pathlib import Path

import pytest

import cordwood
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.client import LATEST
from tests.interop.kafka_harness.client_tools import TOOLS, ToolsClient
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.patience import PATIENCE_S

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


def test_end_to_end_latency_ends_without_an_error(
    our_broker: Broker, kafka43_jars: Jars, tmp_path: Path
) -> None:
    """The tool commits offsets when it has measured."""
    our_broker.create_topics({"latency": {}})
    settings = tmp_path / "client.properties"
    settings.write_text("default.api.timeout.ms=10000\nrequest.timeout.ms=10000\n")
    arguments = [our_broker.bootstrap, "latency", "200", "all", "1024", str(settings)]

    said = subprocess.run(
        kafka43_jars.command(f"{TOOLS}EndToEndLatency", *arguments),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    ).stdout

    assert re.search(r"Avg latency: [\d.]+ ms", said)
