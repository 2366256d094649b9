"""Options of the sink, with spark-sql-kafka's names, parsed into one value.

    topic     topic of all rows; it overrides a column `topic`, which is required without it
    kafka.…   producer configuration: kafka.bootstrap.servers, kafka.compression.type, kafka.acks …

Names are case-insensitive. Invalid options are rejected on the driver, before any task runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, cast

from cordwood.client.settings import ProducerOptions, ProducerSettings, options_of
from cordwood.core.errors import SettingError
from cordwood.records.record_batch import HEADER_SIZE

_CLIENT: Final = "kafka."
_SERVERS: Final = "kafka.bootstrap.servers"
_TOPIC: Final = "topic"

#: Default of `batch.size`: bulk writes in larger batches cost less on client and broker.
_BATCH_SIZE: Final = "131072"
#: Default of `buffer.memory`: half of a client's, since a task also holds Spark's batch of 64 MB.
#: It fills up while a broker is slow.
_BUFFER_MEMORY: Final = "16777216"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """The parsed options of a write; `producer` has Kafka's names of the configuration."""

    topic: str | None
    producer: Mapping[str, str]
    #: Most bytes of the records of a batch, uncompressed.
    batch_bytes: int


def parse_sink_options(given: Mapping[str, str]) -> SinkOptions:
    """Parse Spark's options; raise SettingError for an option that cannot be used."""
    texts = {name.lower(): text for name, text in given.items()}
    for name in texts:
        if name != _TOPIC and not name.startswith(_CLIENT):
            raise _unknown(name)
    if not texts.get(_SERVERS):
        raise SettingError(
            f"{_SERVERS} is not set", key=_SERVERS, remedy=f"set {_SERVERS} to host:port"
        )
    producer = {"batch.size": _BATCH_SIZE, "buffer.memory": _BUFFER_MEMORY} | {
        name.removeprefix(_CLIENT): text for name, text in texts.items() if name != _TOPIC
    }
    settings = ProducerSettings(**cast("ProducerOptions", options_of(ProducerSettings, producer)))
    most_bytes = min(settings.batch_size, settings.max_request_size)
    return SinkOptions(
        topic=texts.get(_TOPIC),
        producer=producer,
        batch_bytes=max(most_bytes - HEADER_SIZE, 1),
    )


def _unknown(name: str) -> SettingError:
    if name == "path":
        return SettingError(
            "path: the sink writes to brokers, not to a folder",
            key=name,
            remedy=f"set {_SERVERS}, and call save() without a path",
        )
    near = get_close_matches(name, (_TOPIC, _SERVERS), n=1)
    remedy = f"did you mean {near[0]}?" if near else f"use {_TOPIC} and {_CLIENT}…"
    return SettingError(f"unknown option of the sink: {name}", key=name, remedy=remedy)
