"""Fakes for tests of Cordwood and of applications on it.

- `Kafka`, `KafkaOptions`, `KafkaTestCase`: a broker in a test, also without pytest.
- `files`: a file system that loses what was not synced, and fails, tears or delays by script.
- `clock`: virtual time with its timers; `worker`: no threads; `random`: a seeded random source.
- `zookeeper`: a server and its clients, whose connections a test breaks.

Promises: each fake keeps the contract of its port, checked by the conformance suite of the real
one. May import: everything below. Each module is imported on first use of a name, so that none
loads the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cordwood.testing.broker_faults import FaultNotMetError
    from cordwood.testing.kafka_fixture import Kafka, KafkaSnapshot
    from cordwood.testing.kafka_options import KafkaOptions
    from cordwood.testing.kafka_test_case import KafkaTestCase
    from cordwood.testing.memory_files import MemoryFiles
    from cordwood.testing.proxy.kafka_proxy import KafkaProxy
    from cordwood.testing.virtual_clock import VirtualClock

__all__ = (
    "FaultNotMetError",
    "Kafka",
    "KafkaOptions",
    "KafkaProxy",
    "KafkaSnapshot",
    "KafkaTestCase",
    "MemoryFiles",
    "VirtualClock",
)

_HOMES = {
    "FaultNotMetError": "broker_faults",
    "Kafka": "kafka_fixture",
    "KafkaOptions": "kafka_options",
    "KafkaProxy": "proxy.kafka_proxy",
    "KafkaSnapshot": "kafka_fixture",
    "KafkaTestCase": "kafka_test_case",
    "MemoryFiles": "memory_files",
    "VirtualClock": "virtual_clock",
}


def __getattr__(name: str) -> object:
    """Import the module of a public name on first access."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return every public name."""
    return sorted(__all__)
