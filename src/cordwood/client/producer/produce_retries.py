"""Retries of batches by the error codes of their responses (Java: `Sender.canRetry`).

Each batch of a response is handled in one of four ways:

    done       success; a duplicate counts as success with an unknown offset
    retry      a retriable error; a sequence gap that the batches before it will close
    restart    retry with new sequences: a real gap, or a producer id unknown to the broker
    fail       every other error
"""

from typing import Final, NamedTuple

from cordwood.client.network.response_errors import error_of
from cordwood.client.producer.partition_queue import ProducerBatch
from cordwood.core.errors import (
    DuplicateSequenceNumberError,
    InvalidProducerEpochError,
    KafkaError,
    MessageTooLargeError,
    OutOfOrderSequenceNumberError,
    UnknownProducerIdError,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceResponse,
)

SUCCESSES: Final = {0, DuplicateSequenceNumberError.code}

_ID_EXPIRED: Final = {UnknownProducerIdError.code, InvalidProducerEpochError.code}
_REMEDIES: Final = {
    MessageTooLargeError.code: "lower batch_size, or raise max.message.bytes of the topic",
}


class ProduceErrorDecision(NamedTuple):
    """Handling of a failed batch and of its producer's sequences."""

    error: KafkaError
    is_retried: bool
    is_restart_due: bool
    is_identity_lost: bool


def decide_error(
    result: PartitionProduceResponse, batch: ProducerBatch, *, is_next: bool
) -> ProduceErrorDecision:
    """Decide about a failed batch; `is_next` if all batches before it are acknowledged."""
    code = result.error_code
    is_numbered = batch.base_sequence is not None
    is_gap = is_numbered and code == OutOfOrderSequenceNumberError.code
    is_id_expired = is_numbered and code in _ID_EXPIRED
    error = error_of(
        code,
        subject=str(batch.result.partition),
        message=_reason(result),
        remedy=_REMEDIES.get(code, ""),
    )
    return ProduceErrorDecision(
        error,
        is_retried=error.retriable or is_gap or is_id_expired,
        is_restart_due=is_id_expired or (is_gap and is_next),
        is_identity_lost=is_numbered and code == InvalidProducerEpochError.code,
    )


def _reason(result: PartitionProduceResponse) -> str | None:
    """Return the broker's error message, with the messages of rejected records."""
    parts = [result.error_message or ""]
    for each in result.record_errors:
        text = each.batch_index_error_message
        if text and text not in parts[0]:
            parts.append(f"record {each.batch_index}: {text}")
    return "; ".join(filter(None, parts)) or None
