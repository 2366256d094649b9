"""The levels of the broker's loggers, as a configuration that is not kept: a restart forgets them.

Only loggers that have been used are known. Taking a level back lets a logger have that of the one
above it, which the root of this package does not have.
"""

from collections.abc import Iterable, Sequence

from cordwood.broker.alterations import Alteration, Operation
from cordwood.broker.config_entries import ConfigEntry
from cordwood.core.config_codes import ConfigSource
from cordwood.core.errors import InvalidConfigError, InvalidRequestError
from cordwood.observability.logs import LEVELS, ROOT, levels, set_level

_UNKNOWN_TYPE = 0


def describe_loggers(names: Iterable[str] | None = None) -> list[ConfigEntry]:
    """Return the level of every logger, or of those of `names`."""
    wanted = None if names is None else frozenset(names)
    return [
        ConfigEntry(
            name=name,
            value=level,
            source=ConfigSource.DYNAMIC_BROKER_LOGGER,
            is_sensitive=False,
            is_read_only=False,
            synonyms=(),
            type=_UNKNOWN_TYPE,
            documentation="",
        )
        for name, level in levels().items()
        if wanted is None or name in wanted
    ]


def check_levels(alterations: Sequence[Alteration]) -> None:
    """Raise for the first change of a level that may not be."""
    known = levels()
    for each in alterations:
        _check_operation(each)
        if each.name not in known:
            raise InvalidConfigError(f"Logger {each.name} does not exist!")
        if each.operation is Operation.SET and each.value not in LEVELS:
            raise InvalidConfigError(
                f"Cannot set the log level of {each.name} to {each.value}"
                f" as it is not a supported log level. Valid log levels are {', '.join(LEVELS)}"
            )


def apply_levels(alterations: Sequence[Alteration]) -> None:
    """Change levels as `check_levels` has allowed it."""
    for each in alterations:
        set_level(each.name, each.value if each.operation is Operation.SET else None)


def _check_operation(change: Alteration) -> None:
    if change.operation not in {Operation.SET, Operation.DELETE}:
        raise InvalidRequestError(
            f"{change.operation.name} operation is not allowed for the BROKER_LOGGER resource"
        )
    if change.operation is Operation.DELETE and change.name == ROOT:
        raise InvalidRequestError("Removing the log level of the root logger is not allowed")
