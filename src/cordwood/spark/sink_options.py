"""The options of the sink, by spark-sql-kafka's names, read into one value.

    topic     where all rows go, whatever a column `topic` says; without it each row says
    kafka.…   what a producer is told: kafka.bootstrap.servers, kafka.compression.type, kafka.acks …

Case means nothing. Whatever cannot be used is refused on the driver, before any task runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, cast

from cordwood.client.settings import ProducerOptions, ProducerSettings, options_of
from cordwood.core.errors import SettingError
from cordwood.records.batch import HEADER_SIZE

_CLIENT: Final = "kafka."
_SERVERS: Final = "kafka.bootstrap.servers"
_TOPIC: Final = "topic"

#: A task writes much at once: larger batches than a producer's usual ones cost less on both sides.
_BATCH_SIZE: Final = "131072"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """Where rows go; `producer` is what a producer is told, by Kafka's names."""

    topic: str | None
    producer: Mapping[str, str]
    #: What the records of a batch may take, uncompressed.
    batch_bytes: int


def parse_sink_options(given: Mapping[str, str]) -> SinkOptions:
    """Return the value of Spark's options; SettingError names what cannot be used."""
    texts = {name.lower(): text for name, text in given.items()}
    for name in texts:
        if name != _TOPIC and not name.startswith(_CLIENT):
            raise _unknown(name)
    if not texts.get(_SERVERS):
        raise SettingError(
            "nothing is given to write to", key=_SERVERS, remedy=f"give {_SERVERS}, as host:port"
        )
    producer = {"batch.size": _BATCH_SIZE} | {
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
            "a folder cannot be written to: records go to brokers",
            key=name,
            remedy=f"give {_SERVERS}, and save() nothing",
        )
    near = get_close_matches(name, (_TOPIC, _SERVERS), n=1)
    remedy = f"did you mean {near[0]}?" if near else f"known are {_TOPIC} and {_CLIENT}…"
    return SettingError(f"option {name} is unknown to the sink", key=name, remedy=remedy)
