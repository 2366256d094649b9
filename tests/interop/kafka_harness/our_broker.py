"""`cordwood serve` as a broker under test: its own process, its own folder, Kafka's settings."""

from pathlib import Path

from tests.interop.kafka_harness.brokers import COMMON, Broker, Server, free_port
from tests.interop.kafka_harness.oracle import Oracle
from tests.serving import CORDWOOD


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
    return _broker(oracle, folder / "logs", [str(settings)], port=port, words=folder)


def cordwood_over(logs: Path, oracle: Oracle) -> Broker:
    """Start our broker with defaults over an existing log directory; its output goes next to
    that.
    """
    port = free_port()
    arguments = ["--data", str(logs), "--listen", f"127.0.0.1:{port}"]
    return _broker(oracle, logs, arguments, port=port, words=logs.parent)


def _broker(oracle: Oracle, logs: Path, arguments: list[str], *, port: int, words: Path) -> Broker:
    command = [*CORDWOOD, "serve", *arguments]
    return Broker(
        bootstrap=f"127.0.0.1:{port}",
        logs=logs,
        servers=[Server("cordwood", command, words / "cordwood.txt")],
        oracle=oracle,
    )
