"""The clients by their names on the conformance page, and their construction.

The needs of a client (a wheel, a command, a toolchain) are checked only when it is made.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from tests.interop.kafka_harness.client import Client
from tests.interop.kafka_harness.client_kcat import KcatClient
from tests.interop.kafka_harness.client_programs import (
    AdminProgramClient,
    NodeClient,
    SparkClient,
)
from tests.interop.kafka_harness.client_tools import ToolsClient
from tests.interop.kafka_harness.go_clients import go_program
from tests.interop.kafka_harness.jars import Jars, MissingToolError
from tests.interop.kafka_harness.node_clients import node_program
from tests.interop.kafka_harness.oracle import Oracle, Program
from tests.interop.kafka_harness.rust_clients import rust_program
from tests.interop.kafka_harness.spark import spark_program


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """Shared parts of clients: Kafka's jars, and programs, each running once for all brokers."""

    kafka43_jars: Jars
    kafka43: Oracle
    kafka39: Oracle
    folder: Path
    programs: dict[str, tuple[Program, str]] = field(default_factory=dict)

    def program(self, name: str, start: Callable[[], tuple[Program, str]]) -> tuple[Program, str]:
        """The program of that name and its version, started when it is first asked for."""
        if name not in self.programs:
            self.programs[name] = start()
        return self.programs[name]

    def close(self) -> None:
        for program, _ in self.programs.values():
            program.close()


Maker = Callable[[Origins, str], Client]


def _java(name: str) -> Maker:
    def make(origins: Origins, bootstrap: str) -> Client:
        oracle: Oracle = getattr(origins, name)
        version = oracle.version.rpartition("-")[2]
        return AdminProgramClient(bootstrap, oracle, version)

    return make


def _tools(origins: Origins, bootstrap: str) -> Client:
    return ToolsClient(bootstrap, origins.kafka43_jars, origins.folder)


def _wheel(module: str, name: str) -> Maker:
    def make(origins: Origins, bootstrap: str) -> Client:
        try:
            driver = import_module(f"tests.interop.kafka_harness.{module}")
        except ImportError as error:
            raise MissingToolError(f"{error}: requirements/peers.txt is not installed") from error
        return cast("type[Client]", getattr(driver, name))(bootstrap)

    return make


def _kcat(origins: Origins, bootstrap: str) -> Client:
    if shutil.which("kcat") is None:
        raise MissingToolError("kcat is not installed")
    return KcatClient(bootstrap)


def _go(name: str) -> Maker:
    def make(origins: Origins, bootstrap: str) -> Client:
        program = origins.program(name, lambda: go_program(name, origins.folder))
        return AdminProgramClient(bootstrap, *program)

    return make


def _node(origins: Origins, bootstrap: str) -> Client:
    program = origins.program("kafkajs", lambda: node_program(origins.folder))
    return NodeClient(bootstrap, *program)


def _rust(origins: Origins, bootstrap: str) -> Client:
    program = origins.program("krafka", lambda: rust_program(origins.folder))
    return AdminProgramClient(bootstrap, *program)


def _spark(origins: Origins, bootstrap: str) -> Client:
    return SparkClient(bootstrap, *origins.program("spark", lambda: spark_program(origins.folder)))


#: Unmodified clients.
CLIENTS: Final[dict[str, Maker]] = {
    "Java 4.3": _java("kafka43"),
    "Java 3.9": _java("kafka39"),
    "Kafka's commands": _tools,
    "confluent-kafka": _wheel("client_confluent", "ConfluentClient"),
    "kafka-python": _wheel("client_kafka_python", "KafkaPythonClient"),
    "aiokafka": _wheel("client_aiokafka", "AiokafkaClient"),
    "kcat": _kcat,
    "franz-go": _go("franz-go"),
    "sarama": _go("sarama"),
    "kafkajs": _node,
    "krafka": _rust,
    "spark-sql-kafka": _spark,
}
#: With our own.
ALL_CLIENTS: Final = {**CLIENTS, "cordwood": _wheel("client_cordwood", "CordwoodClient")}
