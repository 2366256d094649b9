"""Retries of batches by the error codes of their responses (Java: `Sender.canRetry`).

Each batch of a response is handled in one of five ways:

    done       success; a duplicate counts as success with an unknown offset
    retry      a retriable error; a sequence gap that other batches may explain
    restart    retry with new sequences: a real gap, or a producer id unknown to the broker
    split      too large for the topic, with more than one record: its halves are sent
    fail       every other error

A broker compares a batch with its last ones before it checks the sequence. An error of that check
therefore excludes that the batch was written before; all other errors leave this open. An exception
is a leader that has restarted: it knows the last batch of a producer alone.
"""

from typing import Final, NamedTuple

from cordwood.client.network.response_errors import error_of
from cordwood.client.producer.partition_queue import ProducerBatch
from cordwood.core.errors import (
    CorruptMessageError,
    DuplicateSequenceNumberError,
    InvalidProducerEpochError,
    KafkaError,
    MessageTooLargeError,
    NotEnoughReplicasError,
    OutOfOrderSequenceNumberError,
    UnknownProducerIdError,
)
from cordwood.protocol.messages.produce import (
    PartitionProduceResponse,
)

SUCCESSES: Final = {0, DuplicateSequenceNumberError.code}

_ID_EXPIRED: Final = {UnknownProducerIdError.code, InvalidProducerEpochError.code}
_IS_NO_DUPLICATE: Final = {OutOfOrderSequenceNumberError.code, *_ID_EXPIRED}
_BEFORE_THE_WRITE: Final = {CorruptMessageError.code, NotEnoughReplicasError.code}
_REMEDIES: Final = {
    MessageTooLargeError.code: "raise max.message.bytes of the topic",
}


class ProduceErrorDecision(NamedTuple):
    """Handling of a failed batch and of its producer's sequences."""

    error: KafkaError
    is_retried: bool
    is_restart_due: bool
    is_identity_lost: bool


def is_delivered(result: PartitionProduceResponse, *, is_written: bool) -> bool:
    """Return whether a batch is in the log; `is_written` if a later one is acknowledged.

    The broker keeps a few batches only. It reports a gap for an older duplicate.
    """
    code = result.error_code
    return code in SUCCESSES or (is_written and code == OutOfOrderSequenceNumberError.code)


def is_split(code: int, batch: ProducerBatch) -> bool:
    """Return whether the halves of a batch are to be sent (Java: `splitAndReenqueue`).

    An uncertain batch is not split: its halves would not be detected as duplicates of it.
    """
    return (
        code == MessageTooLargeError.code
        and batch.builder.count > 1
        and not batch.result.is_done
        and (batch.base_sequence is None or not batch.is_uncertain)
    )


def may_be_written(code: int, *, before: bool) -> bool:
    """Return whether a batch may be in the log after an error; `before` is the earlier result."""
    return code not in _IS_NO_DUPLICATE and (before or code not in _BEFORE_THE_WRITE)


def decide_error(
    result: PartitionProduceResponse, batch: ProducerBatch, *, is_gap_final: bool
) -> ProduceErrorDecision:
    """Decide about a failed batch; `PartitionQueue.is_gap_final` explains the final gap."""
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
        is_restart_due=is_id_expired or (is_gap and is_gap_final),
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
