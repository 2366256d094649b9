"""`cordwood serve` as a broker under test: its own process, its own folder, Kafka's settings."""

import sys
from pathlib import Path

from tests.interop.kafka_harness.brokers import COMMON, Broker, Server, free_port
from tests.interop.kafka_harness.oracle import Oracle

COMMAND = Path(sys.executable).with_name("cordwood")


def cordwood_broker(folder: Path, oracle: Oracle, more: str = "") -> Broker:
    """Our broker with the settings that Kafka gets in these tests, not yet started.

    `more` are lines for its settings.
    """
    port = free_port()
    settings = folder / "cordwood.properties"
    settings.write_text(
        f"""node.id=1
listeners=PLAINTEXT://127.0.0.1:{port}
log.dirs={folder / "logs"}
{COMMON}{more}"""
    )
    command = [str(COMMAND), "serve", str(settings)]
    return Broker(
        bootstrap=f"127.0.0.1:{port}",
        logs=folder / "logs",
        servers=[Server("cordwood", command, folder / "cordwood.txt")],
        oracle=oracle,
    )
