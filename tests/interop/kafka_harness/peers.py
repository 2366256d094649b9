"""Two other implementations of the protocol in Python: each reads our bytes and writes them again.

Neither shares code with Kafka or with us; both derive from Kafka's definitions. An API or a version
that a peer lacks is None.
"""

import io
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import ClassVar, Protocol, Self, cast

from cordwood.protocol.schema import Message, Request

Rewrite = Callable[[bytes], bytes]


class KafkaPythonMessage(Protocol):
    """The used interface of kafka-python's messages."""

    max_version: ClassVar[int]
    _header: object

    @classmethod
    def decode(cls, data: bytes, version: int) -> Self: ...

    def encode(self, version: int) -> bytes: ...


def kio(kind: type[Message], version: int) -> Rewrite | None:
    """Through kio and back; it has every API of Kafka 4.3, and Kafka's ranges."""
    index, serial = import_module("kio.index"), import_module("kio.serial")
    unknown = (index.UnknownAPIKey, index.UnknownEntity)
    is_request = issubclass(kind, Request)
    load = index.load_request_schema if is_request else index.load_response_schema
    try:
        entity = load(kind.__schema__.api_key, version)
    except unknown:
        return None
    read, write = serial.entity_reader(entity), serial.entity_writer(entity)

    def rewrite(data: bytes) -> bytes:
        message, size = read(data, 0)
        assert size == len(data), f"kio reads {size} of {len(data)} bytes"
        out = io.BytesIO()
        write(out, message)
        return out.getvalue()

    return rewrite


def kafka_python(kind: type[Message], version: int) -> Rewrite | None:
    """Through kafka-python and back; it has what its clients send, from version 0 on."""
    peer = _kafka_python_messages().get(kind.__name__)
    if peer is None or version > peer.max_version:
        return None

    def rewrite(data: bytes) -> bytes:
        message = peer.decode(data, version=version)
        message._header = None  # noqa: SLF001 - what it has read it cannot write otherwise
        return bytes(message.encode(version=version))

    return rewrite


@cache
def _kafka_python_messages() -> dict[str, type[KafkaPythonMessage]]:
    """Every message class of kafka-python by its name, which is Kafka's."""
    package = import_module("kafka.protocol")
    base = import_module("kafka.protocol.api_message").ApiMessage
    found: dict[str, type[KafkaPythonMessage]] = {}
    for area in ("admin", "consumer", "metadata", "producer", "sasl"):
        module = import_module(f"{package.__name__}.{area}")
        parts = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
        for each in (module, *(import_module(part.name) for part in parts)):
            found |= {
                name: cast("type[KafkaPythonMessage]", value)
                for name, value in vars(each).items()
                if isinstance(value, type) and issubclass(value, base)
            }
    return found
