"""Errors of the coordinator by request version: old clients do not know PRODUCER_FENCED."""

from typing import Final

from cordwood.core.errors import InvalidProducerEpochError, KafkaError, ProducerFencedError

_INIT_WITH_FENCED: Final = 4
_OTHERS_WITH_FENCED: Final = 2


def init_producer_id_error(error: KafkaError, api_version: int) -> KafkaError:
    """Return the error of an InitProducerId response."""
    return _before(_INIT_WITH_FENCED, error, api_version)


def transaction_error(error: KafkaError, api_version: int) -> KafkaError:
    """Return the error of an AddPartitionsToTxn, AddOffsetsToTxn or EndTxn response."""
    return _before(_OTHERS_WITH_FENCED, error, api_version)


def _before(version: int, error: KafkaError, api_version: int) -> KafkaError:
    if api_version < version and isinstance(error, ProducerFencedError):
        return InvalidProducerEpochError(str(error))
    return error
