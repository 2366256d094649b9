"""Options of the sink, with spark-sql-kafka's names, parsed into one value.

    topic                  topic of all rows; it overrides a column `topic`, required without it
    kafka.…                producer configuration: kafka.bootstrap.servers, kafka.compression.type …
    delivery               exactly-once (the default), at-least-once
    transactionalIdPrefix  name of the sink; by default from the checkpoint of the query. The names
                           of batch writes begin with it
    jobId                  name of a batch write, which is not repeated for the same name
    onMissingRecord        fail (the default), assume-done, replay
    recordTopic            topic that keys the intent record; by default `topic`

Names are case-insensitive. Invalid options are rejected on the driver, before any task runs. Spark
passes some of its own options on to the sink of a stream.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, cast

from cordwood.client.settings import ProducerOptions, ProducerSettings, options_of
from cordwood.core.errors import SettingError
from cordwood.records.record_batch import HEADER_SIZE

_CLIENT: Final = "kafka."
_SERVERS: Final = "kafka.bootstrap.servers"
_TOPIC: Final = "topic"
_DELIVERY: Final = "delivery"
_PREFIX: Final = "transactionalIdPrefix"
_JOB: Final = "jobId"
_MISSING: Final = "onMissingRecord"
_RECORD_TOPIC: Final = "recordTopic"
_TIMEOUT: Final = "transaction.timeout.ms"
_OWN: Final = (_TOPIC, _DELIVERY, _PREFIX, _JOB, _MISSING, _RECORD_TOPIC)

#: Spark's own options of a streaming write.
_CHECKPOINT: Final = "checkpointlocation"
_ASYNC: Final = "asyncprogresstrackingenabled"
_OF_SPARK: Final = (
    _CHECKPOINT,
    "queryname",
    _ASYNC,
    "asyncprogresstrackingcheckpointintervalms",
)

#: Default of `batch.size`: bulk writes in larger batches cost less on client and broker.
_BATCH_SIZE: Final = "131072"
#: Default of `buffer.memory`: half of a client's, since a task also holds Spark's batch of 64 MB.
#: It fills up while a broker is slow.
_BUFFER_MEMORY: Final = "16777216"


class DeliveryGuarantee(StrEnum):
    """The guarantee of a write."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


class OnMissingRecord(StrEnum):
    """The treatment of a batch that may have been written: its outcome, or its record, is lost."""

    FAIL = "fail"
    ASSUME_DONE = "assume-done"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """The parsed options of a write; `producer` has Kafka's names of the configuration."""

    topic: str | None
    producer: Mapping[str, str]
    #: Most bytes of the records of a batch, uncompressed.
    batch_bytes: int
    delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE
    transactional_id_prefix: str | None = None
    job_id: str | None = None
    on_missing: OnMissingRecord = OnMissingRecord.FAIL
    #: None if rows name their topics, and no option names the topic of the record.
    record_topic: str | None = None
    #: None for the longest that the brokers allow.
    transaction_timeout_ms: int | None = None
    checkpoint: str | None = None

    @property
    def is_exactly_once(self) -> bool:
        """Whether rows are written in transactions."""
        return self.delivery is DeliveryGuarantee.EXACTLY_ONCE


def parse_sink_options(given: Mapping[str, str], *, is_stream: bool = False) -> SinkOptions:
    """Parse Spark's options; raise SettingError for an option that cannot be used."""
    texts = {name.lower(): text for name, text in given.items()}
    _ensure_known(texts, is_stream=is_stream)
    if not texts.get(_SERVERS):
        raise SettingError(
            f"{_SERVERS} is not set", key=_SERVERS, remedy=f"set {_SERVERS} to host:port"
        )
    producer = {"batch.size": _BATCH_SIZE, "buffer.memory": _BUFFER_MEMORY} | {
        name.removeprefix(_CLIENT): text for name, text in texts.items() if name.startswith(_CLIENT)
    }
    timeout_ms = producer.get(_TIMEOUT)
    settings = ProducerSettings(**cast("ProducerOptions", options_of(ProducerSettings, producer)))
    most_bytes = min(settings.batch_size, settings.max_request_size)
    return SinkOptions(
        topic=texts.get(_TOPIC),
        producer=producer,
        batch_bytes=max(most_bytes - HEADER_SIZE, 1),
        delivery=DeliveryGuarantee(_word(texts, _DELIVERY, DeliveryGuarantee)),
        transactional_id_prefix=texts.get(_PREFIX.lower()),
        job_id=texts.get(_JOB.lower()),
        on_missing=OnMissingRecord(_word(texts, _MISSING, OnMissingRecord)),
        record_topic=texts.get(_RECORD_TOPIC.lower(), texts.get(_TOPIC)),
        transaction_timeout_ms=None if timeout_ms is None else settings.transaction_timeout_ms,
        checkpoint=texts.get(_CHECKPOINT),
    )


def _ensure_known(texts: Mapping[str, str], *, is_stream: bool) -> None:
    own = {name.lower() for name in _OWN}
    own -= {_JOB.lower()} if is_stream else {_MISSING.lower()}
    allowed = own | set(_OF_SPARK if is_stream else ())
    for name in texts:
        if name not in allowed and not name.startswith(_CLIENT):
            raise _unknown(name, is_stream=is_stream)
    if texts.get(_ASYNC, "").lower() == "true":
        raise SettingError(
            "asyncProgressTrackingEnabled: Spark tracks the progress of its own sinks alone in the"
            " background",
            key="asyncProgressTrackingEnabled",
            remedy="omit it; for short batches set the checkpoint file manager that"
            " docs/exactly-once-sink.md names",
        )
    for name in (_PREFIX, _JOB):
        if texts.get(name.lower()) == "":
            raise SettingError(f"{name} is empty", key=name, remedy="set it to a name, or omit it")
    if _word(texts, _DELIVERY, DeliveryGuarantee) == DeliveryGuarantee.AT_LEAST_ONCE:
        for name in (_JOB, _MISSING):
            if name.lower() in texts:
                raise SettingError(
                    f"{name} has no effect with {_DELIVERY}={DeliveryGuarantee.AT_LEAST_ONCE}",
                    key=name,
                    remedy="keep one of them",
                )
    if f"{_CLIENT}transactional.id" in texts:
        raise SettingError(
            "kafka.transactional.id: each task has a transactional id of its own",
            key="kafka.transactional.id",
            remedy=f"set {_PREFIX} to a name for all of them",
        )


def _word(texts: Mapping[str, str], name: str, words: type[StrEnum]) -> str:
    """Return the value of an option that has one of a few; the first is the default."""
    known = [each.value for each in words]
    found = texts.get(name.lower(), known[0]).lower()
    if found not in known:
        raise SettingError(f"{name} is {found}", key=name, remedy=f"set {' or '.join(known)}")
    return found


def _unknown(name: str, *, is_stream: bool) -> SettingError:
    if name == _JOB.lower():
        return SettingError(
            f"{_JOB}: a stream has its query id",
            key=_JOB,
            remedy=f"omit it, or set {_PREFIX} to name the sink",
        )
    if name == _MISSING.lower():
        return SettingError(
            f"{_MISSING}: a batch write is not repeated by Spark",
            key=_MISSING,
            remedy=f"omit it; {_JOB} lets a program that is run again write once",
        )
    if name == "path":
        return SettingError(
            "path: the sink writes to brokers, not to a folder",
            key=name,
            remedy=f"set {_SERVERS}, and call {'start' if is_stream else 'save'}() without a path",
        )
    shown = {each.lower(): each for each in (*_OWN, _SERVERS)}
    near = get_close_matches(name, shown, n=1)
    kind = "streaming sink" if is_stream else "sink"
    remedy = f"did you mean {shown[near[0]]}?" if near else f"use {', '.join(_OWN)} and {_CLIENT}…"
    return SettingError(f"unknown option of the {kind}: {name}", key=name, remedy=remedy)
