"""What a leader is given, what it says of each batch, and what follows from that.

done       also when the leader says that it has the batch already: the offset is not known then
retry      errors that pass; a gap in the sequences, which the batches before it will close
restart    and a retry: the gap is real, or the broker has forgotten the producer
give up    everything else
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from cordwood.client.cluster import Cluster
from cordwood.client.partition_queue import ProducerBatch
from cordwood.client.refusals import refusal
from cordwood.client.settings import ProducerSettings
from cordwood.core.errors import (
    DuplicateSequenceNumberError,
    InvalidProducerEpochError,
    KafkaError,
    MessageTooLargeError,
    OutOfOrderSequenceNumberError,
    UnknownProducerIdError,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

SUCCESSES: Final = {0, DuplicateSequenceNumberError.code}

_ACKS: Final = {"0": 0, "1": 1, "all": -1, "-1": -1}
_FORGOTTEN: Final = {UnknownProducerIdError.code, InvalidProducerEpochError.code}
_REMEDIES: Final = {
    MessageTooLargeError.code: "lower batch_size, or raise max.message.bytes of the topic",
}


class Verdict(NamedTuple):
    """What becomes of a batch that was not taken, and of its producer's sequences."""

    error: KafkaError
    is_retried: bool
    is_restart_due: bool
    is_identity_lost: bool


def produce_request(
    batches: Iterable[ProducerBatch], settings: ProducerSettings, *, cluster: Cluster
) -> ProduceRequest:
    """Return a request with these batches, of different partitions."""
    topics: dict[str, TopicProduceData] = {}
    for batch in batches:
        name, number = batch.fate.partition
        data = topics.setdefault(
            name,
            TopicProduceData(name=name, topic_id=cluster.topic_id(name), partitions=[]),
        )
        data.partitions.append(PartitionProduceData(index=number, records=batch.builder.build()))
    return ProduceRequest(
        acks=_ACKS[settings.acks],
        timeout_ms=settings.request_timeout_ms,
        topics=list(topics.values()),
    )


def answers_by_partition(
    answer: ProduceResponse, cluster: Cluster
) -> Mapping[tuple[str, int], PartitionProduceResponse]:
    """Return what was said of each partition."""
    names = cluster.names_by_id()
    return {
        (topic.name or names.get(topic.topic_id, ""), each.index): each
        for topic in answer.responses
        for each in topic.partitions
    }


def judge(told: PartitionProduceResponse, batch: ProducerBatch, *, is_next: bool) -> Verdict:
    """Decide about a batch that has an error; `is_next` if all before it are acknowledged."""
    code = told.error_code
    is_numbered = batch.base_sequence is not None
    is_gap = is_numbered and code == OutOfOrderSequenceNumberError.code
    is_forgotten = is_numbered and code in _FORGOTTEN
    error = refusal(
        code,
        subject=str(batch.fate.partition),
        message=_reason(told),
        remedy=_REMEDIES.get(code, ""),
    )
    return Verdict(
        error,
        is_retried=error.retriable or is_gap or is_forgotten,
        is_restart_due=is_forgotten or (is_gap and is_next),
        is_identity_lost=is_numbered and code == InvalidProducerEpochError.code,
    )


def _reason(told: PartitionProduceResponse) -> str | None:
    """Return the broker's own words, of the records too that it did not like."""
    words = [told.error_message or ""]
    for each in told.record_errors:
        text = each.batch_index_error_message
        if text and text not in words[0]:
            words.append(f"record {each.batch_index}: {text}")
    return "; ".join(filter(None, words)) or None
