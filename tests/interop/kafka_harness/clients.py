"""The clients by the names that the conformance page calls them by, and how each is made.

What a client needs (a wheel, a command, a toolchain) is looked for only when it is made.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from tests.interop.kafka_harness.client import Client
from tests.interop.kafka_harness.client_kcat import KcatClient
from tests.interop.kafka_harness.client_programs import OwnProgramClient, ProgramClient
from tests.interop.kafka_harness.client_tools import ToolsClient
from tests.interop.kafka_harness.go_clients import go_program
from tests.interop.kafka_harness.jars import Jars, MissingToolError
from tests.interop.kafka_harness.oracle import Oracle


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """What clients are made of: Kafka's jars, and programs that run already."""

    kafka43_jars: Jars
    kafka43: Oracle
    kafka39: Oracle
    folder: Path


Maker = Callable[[Origins, str], Client]


def _java(name: str) -> Maker:
    def make(origins: Origins, bootstrap: str) -> Client:
        oracle: Oracle = getattr(origins, name)
        return ProgramClient(bootstrap, oracle, oracle.version.rpartition("-")[2])

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
        return OwnProgramClient(bootstrap, *go_program(name, origins.folder))

    return make


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
}
