"""Packages and tools of these tests: without one of them a test is skipped, or fails with CI=true.

`requirements/peers.txt` has the packages of other clients. Maven fetches Kafka's jars.
"""

import importlib
import os
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

import pytest

from tests.interop.kafka_harness.jars import Jars, MissingToolError, fetch

T = TypeVar("T")


def peer(name: str) -> ModuleType:
    """Import the package of another client; without it, skip the module, or fail with CI=true."""
    if os.environ.get("CI") != "true":
        pytest.importorskip(name, reason=f"{name} is not installed (requirements/peers.txt)")
    return importlib.import_module(name)


def made(make: Callable[[], T]) -> T:
    """Return what tools make; without one of them, skip the test, or fail with CI=true."""
    try:
        return make()
    except MissingToolError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))


def kafka_jars(version: str = "kafka-4.3.0") -> Jars:
    """Return the jars of a Kafka, as `made`."""
    return made(lambda: fetch(version))
