"""How fast are our clients next to Python's others, with Apache Kafka for a broker?

    make bench-kafka          or: python -m benchmarks.kafka.clients

`benchmarks.macro.clients` describes the work. Kafka comes from Maven.
"""

import tempfile
from pathlib import Path
from typing import Final

from benchmarks.figure import Figure
from benchmarks.macro.clients import measure
from benchmarks.results import keep
from tests.interop.kafka_harness.brokers import kraft_broker
from tests.interop.kafka_harness.jars import fetch
from tests.interop.kafka_harness.oracle import Oracle

RECORDS: Final = 200_000


def figures(records: int = RECORDS) -> list[Figure]:
    """Measure with N records per round."""
    with tempfile.TemporaryDirectory() as folder:
        jars = fetch("kafka-4.3.0")
        oracle = Oracle(jars, Path(folder, "oracle.txt"))
        broker = kraft_broker(jars, Path(folder), oracle)
        try:
            broker.start()
            return measure(broker.bootstrap, records)
        finally:
            broker.stop()
            oracle.close()


if __name__ == "__main__":
    keep(figures())
