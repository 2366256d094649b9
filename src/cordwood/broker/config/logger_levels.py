"""Levels of the broker's loggers as a configuration (Kafka: `BROKER_LOGGER`, `LoggingController`).

Levels are not stored: a restart resets them. Only loggers that have been used exist. Deleting a
level makes the logger inherit its parent's level; the root logger of this package has no parent, so
its level cannot be deleted.
"""

from collections.abc import Iterable, Sequence

from cordwood.broker.config.config_alterations import (
    AlterOperation,
    ConfigAlteration,
    ensure_complete,
)
from cordwood.broker.config.described_configs import DescribedConfig
from cordwood.core.config_codes import UNKNOWN_TYPE, ConfigSource
from cordwood.core.errors import InvalidConfigError, InvalidRequestError
from cordwood.observability.logs import LEVELS, ROOT, levels, set_level


def describe_loggers(names: Iterable[str] | None = None) -> list[DescribedConfig]:
    """Return the levels of all loggers, or of those in `names`."""
    wanted = None if names is None else frozenset(names)
    return [
        DescribedConfig(
            name=name,
            value=level,
            source=ConfigSource.DYNAMIC_BROKER_LOGGER,
            is_sensitive=False,
            is_read_only=False,
            synonyms=(),
            type=UNKNOWN_TYPE,
            documentation="",
        )
        for name, level in levels().items()
        if wanted is None or name in wanted
    ]


def check_levels(alterations: Sequence[ConfigAlteration]) -> None:
    """Raise for the first invalid change of a level."""
    ensure_complete(alterations)
    known = levels()
    for each in alterations:
        _check_operation(each)
        if each.name not in known:
            raise InvalidConfigError(f"Logger {each.name} does not exist!")
        if each.operation is AlterOperation.SET and each.value not in LEVELS:
            raise InvalidConfigError(
                f"Cannot set the log level of {each.name} to {each.value}"
                f" as it is not a supported log level. Valid log levels are {', '.join(LEVELS)}"
            )


def apply_levels(alterations: Sequence[ConfigAlteration]) -> None:
    """Apply changes that `check_levels` has accepted."""
    for each in alterations:
        set_level(each.name, each.value if each.operation is AlterOperation.SET else None)


def _check_operation(change: ConfigAlteration) -> None:
    if change.operation not in {AlterOperation.SET, AlterOperation.DELETE}:
        raise InvalidRequestError(
            f"{change.operation.name} operation is not allowed for the BROKER_LOGGER resource"
        )
    if change.operation is AlterOperation.DELETE and change.name == ROOT:
        raise InvalidRequestError("Removing the log level of the root logger is not allowed")
