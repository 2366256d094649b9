"""Checks of altered broker settings against the running broker (Kafka: `validateReconfiguration`).

Each value is valid alone. It is rejected because no client could connect any longer, or because
Kafka does not allow so large a step. The messages are Kafka's own.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.listeners import listeners_of
from cordwood.broker.settings.sockets import numbers_by_address
from cordwood.core.errors import InvalidRequestError

ReconfigurationCheck: TypeAlias = Callable[[BrokerConfigs, BrokerConfigs], None]
"""Takes the planned and the current settings; raises InvalidRequestError. It may read files."""

_MAX_CONNECTIONS: Final = "max.connections"
_PER_IP: Final = "max.connections.per.ip"
_PER_IP_OVERRIDES: Final = "max.connections.per.ip.overrides"
_CLEANER_THREADS: Final = "log.cleaner.threads"
_DEDUPE_BUFFER: Final = "log.cleaner.dedupe.buffer.size"
_MIN_DEDUPE_BYTES: Final = 1024 * 1024


def check_connections(planned: BrokerConfigs, current: BrokerConfigs) -> None:
    """Reject new limits under which no client can connect (Kafka: `ConnectionQuotas`)."""
    prefixes = [each.key_prefix for each in listeners_of(planned).listeners]
    for key in (_MAX_CONNECTIONS, *(f"{prefix}{_MAX_CONNECTIONS}" for prefix in prefixes)):
        limit = planned.integer(key)
        if limit <= 0 and limit != current.integer(key):
            raise InvalidRequestError(f"Invalid {_MAX_CONNECTIONS} {limit}")
    if _is_every_address_refused(planned) and not _is_every_address_refused(current):
        raise InvalidRequestError(
            f"requirement failed: {_PER_IP} can be set to zero only if {_PER_IP_OVERRIDES} property"
            " is set."
        )


def _is_every_address_refused(configs: BrokerConfigs) -> bool:
    exceptions = numbers_by_address(configs.text(_PER_IP_OVERRIDES))
    return configs.integer(_PER_IP) == 0 and not any(exceptions.values())


def check_cleaner(planned: BrokerConfigs, current: BrokerConfigs) -> None:
    """Reject threads without memory, or far more or fewer than now (Kafka: `LogCleaner`)."""
    threads, before = planned.integer(_CLEANER_THREADS), current.integer(_CLEANER_THREADS)
    memory = planned.integer(_DEDUPE_BUFFER)
    if (threads, memory) == (before, current.integer(_DEDUPE_BUFFER)):
        return
    if threads < 1:
        raise InvalidRequestError("Log cleaner threads should be at least 1")
    if memory // threads <= _MIN_DEDUPE_BYTES:
        raise InvalidRequestError(
            f"requirement failed: {_DEDUPE_BUFFER} must be at least 1MB per cleaner thread."
        )
    if threads < before // 2:
        raise InvalidRequestError(
            f"Log cleaner threads cannot be reduced to less than half the current value {before}"
        )
    # Kafka never gets threads again after a start with none.
    if threads > max(1, before * 2):
        raise InvalidRequestError(
            "Log cleaner threads cannot be increased to more than double the current value"
            f" {before}"
        )


CHECKS: Final[tuple[ReconfigurationCheck, ...]] = (check_connections, check_cleaner)
