"""Apicurio Registry, which answers Confluent's REST calls; Maven fetches it.

Confluent's own registry is not on Maven Central.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from tests.interop.kafka_harness.brokers import Server, free_port
from tests.interop.kafka_harness.jars import (
    BUILD,
    MAVEN_PATIENCE_S,
    MissingToolError,
    make_once,
)
from tests.interop.kafka_harness.patience import wait_for_result

_ARTIFACT: Final = "io.apicurio:apicurio-registry-app:2.6.13.Final:tar.gz:all"
_PLUGIN: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack"
#: Confluent's calls, below the address of the registry.
_CALLS: Final = "/apis/ccompat/v7"


def fetch_registry() -> Path:
    """Return the folder of the registry, fetched unless it is there."""
    folder = BUILD / "apicurio-2.6.13"
    make_once(folder, _ARTIFACT.encode(), _unpack)
    return folder


def _unpack(folder: Path) -> None:
    words = ["mvn", "-q", "-B", _PLUGIN, f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={folder}"]
    try:
        subprocess.run(words, check=True, capture_output=True, text=True, timeout=MAVEN_PATIENCE_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingToolError(f"Maven has not fetched {_ARTIFACT}: {error}") from error


@contextmanager
def running_registry(program: Path, folder: Path) -> Iterator[str]:
    """Run a registry that keeps schemas in memory, and yield the address of Confluent's calls."""
    port = free_port()
    options = [f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1"]
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]
    command = ["java", *quick, *options, "-jar", str(next(program.glob("*-runner.jar")))]
    server = Server("registry", command, folder / "registry.txt")
    server.start()
    try:
        wait_for_result(lambda: _answers(port), wanted=True)
        yield f"http://127.0.0.1:{port}{_CALLS}"
    finally:
        server.stop()


def _answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", f"{_CALLS}/subjects")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
