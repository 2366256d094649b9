"""Settings of one group (Kafka: `GroupConfig`).

    the group's own value    consumer.session.timeout.ms
    else its broker's        group.consumer.session.timeout.ms
    else the default         45000

Names, types, defaults and bounds are those of Kafka 4.3. The broker has bounds of its own, such as
`group.consumer.min.session.timeout.ms`: a new value must be within them (`ensure_within_bounds`),
and a stored value that no longer is counts as the nearest bound. The settings of share groups and
streams groups are stored and shown; these kinds of groups are not served.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from cordwood.core.errors import InvalidConfigError
from cordwood.core.settings import (
    DEFAULT_SOURCE,
    ResolvedSetting,
    Setting,
    SettingScope,
    SettingSynonym,
    SettingTable,
    SettingType,
    SettingValue,
)

#: A duration as Java's `Duration.parse` reads it, after the sign of the whole.
_DURATION: Final = re.compile(
    r"([+-]?)P(?=[-+0-9T])(?:([+-]?[0-9]+)D)?"
    r"(?:T(?=[-+0-9])(?:([+-]?[0-9]+)H)?(?:([+-]?[0-9]+)M)?(?:([+-]?[0-9]+(?:[.,][0-9]{0,9})?)S)?)?",
    re.IGNORECASE,
)
_UNIT_SECONDS: Final = (86_400, 3_600, 60, 1)
_BY_DURATION: Final = "by_duration:"
_TIMES: Final = ("heartbeat.interval.ms", "session.timeout.ms")


def _problem_of_reset(value: SettingValue) -> str:
    text = str(value)
    if text in {"earliest", "latest"}:
        return ""
    is_duration = text.startswith(_BY_DURATION) and _is_duration(text.removeprefix(_BY_DURATION))
    return "" if is_duration else "is none of earliest, latest and by_duration:<ISO 8601 duration>"


def _is_duration(text: str) -> bool:
    """Return whether a text is a duration that is not negative."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return False
    sign, *parts = found.groups()
    amounts = [float((part or "0").replace(",", ".")) for part in parts]
    seconds = sum(map(float.__mul__, amounts, map(float, _UNIT_SECONDS)))
    return seconds <= 0 if sign == "-" else seconds >= 0


def _number(name: str, default: int, *, at_least: int, doc: str) -> Setting:
    """Declare a number whose default is the broker's setting of the same name with a prefix."""
    return Setting(
        name=name,
        type=SettingType.INT,
        default=default,
        doc=doc,
        scope=SettingScope.GROUP,
        at_least=at_least,
        synonyms=(SettingSynonym(f"group.{name}"),),
    )


def _session(kind: str) -> Setting:
    doc = f"The time without a heartbeat after which a member of a {kind} group is removed."
    return _number(f"{kind}.session.timeout.ms", 45_000, at_least=1, doc=doc)


def _heartbeat(kind: str) -> Setting:
    doc = f"The interval between the heartbeats of a member of a {kind} group."
    return _number(f"{kind}.heartbeat.interval.ms", 5000, at_least=1, doc=doc)


def _assignment(kind: str) -> Setting:
    doc = f"The shortest time between two assignments of a {kind} group."
    return _number(f"{kind}.assignment.interval.ms", 1000, at_least=0, doc=doc)


# In the order in which Kafka validates them.
GROUP_CONFIGS: Final = SettingTable(
    (
        _session("consumer"),
        _heartbeat("consumer"),
        _assignment("consumer"),
        _session("share"),
        _heartbeat("share"),
        _number(
            "share.record.lock.duration.ms",
            30_000,
            at_least=1000,
            doc="The time that a member of a share group has to acknowledge a record.",
        ),
        _number(
            "share.delivery.count.limit",
            5,
            at_least=2,
            doc="The highest number of deliveries of a record to a share group.",
        ),
        _number(
            "share.partition.max.record.locks",
            2000,
            at_least=100,
            doc="The highest number of acquired records of a partition of a share group.",
        ),
        Setting(
            name="share.auto.offset.reset",
            type=SettingType.STRING,
            default="latest",
            doc="The first offset of a share group: earliest, latest, or by_duration:<duration>.",
            scope=SettingScope.GROUP,
            check=_problem_of_reset,
            kafka_message=(
                "Invalid value `{value}` for configuration share.auto.offset.reset. The value must"
                " be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
            ),
        ),
        _assignment("share"),
        _session("streams"),
        _heartbeat("streams"),
        _number(
            "streams.num.standby.replicas",
            0,
            at_least=0,
            doc="The number of standby replicas of each task of a streams group.",
        ),
        _number(
            "streams.initial.rebalance.delay.ms",
            3000,
            at_least=0,
            doc="The time that the first rebalance of a streams group waits for more members.",
        ),
        _assignment("streams"),
        Setting(
            name="share.isolation.level",
            type=SettingType.STRING,
            default="read_uncommitted",
            doc="The isolation level of the fetches of a share group.",
            scope=SettingScope.GROUP,
            one_of=("read_committed", "read_uncommitted"),
        ),
        Setting(
            name="share.renew.acknowledge.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether members of a share group may renew the lock of a record.",
            scope=SettingScope.GROUP,
        ),
    )
)

#: The settings with bounds, in the order of Kafka's checks.
_BOUNDED: Final = (
    *(f"consumer.{name}" for name in (*_TIMES, "assignment.interval.ms")),
    *(f"share.{name}" for name in (*_TIMES, "record.lock.duration.ms", "delivery.count.limit")),
    *(f"share.{name}" for name in ("partition.max.record.locks", "assignment.interval.ms")),
    *(f"streams.{name}" for name in (*_TIMES, "num.standby.replicas", "assignment.interval.ms")),
)
_HIGHEST_ALONE: Final = {"streams.num.standby.replicas": "group.streams.max.standby.replicas"}


def bounds_of(name: str) -> tuple[str | None, str]:
    """Return the broker's settings that are the lowest and the highest value of a group's one."""
    if name in _HIGHEST_ALONE:
        return None, _HIGHEST_ALONE[name]
    kind, _, rest = name.partition(".")
    return f"group.{kind}.min.{rest}", f"group.{kind}.max.{rest}"


def ensure_within_bounds(
    resolved: Mapping[str, ResolvedSetting], number_of: Callable[[str], int]
) -> None:
    """Raise for values of a group outside of the broker's bounds, which `number_of` returns."""
    number = partial(_resolved_number, resolved)
    for name, (lowest, highest) in _checked(resolved):
        if lowest is not None and number(name) < number_of(lowest):
            raise InvalidConfigError(f"{name} must be greater than or equal to {lowest}")
        if number(name) > number_of(highest):
            raise InvalidConfigError(f"{name} must be less than or equal to {highest}")
    for kind in ("consumer", "share", "streams"):
        interval, timeout = (f"{kind}.{each}" for each in _TIMES)
        if number(timeout) <= number(interval):
            raise InvalidConfigError(f"{timeout} must be greater than {interval}")


def _checked(
    resolved: Mapping[str, ResolvedSetting],
) -> Iterator[tuple[str, tuple[str | None, str]]]:
    """Yield the bounded settings; the broker's own assignment interval is not checked."""
    for name in _BOUNDED:
        if not name.endswith(".assignment.interval.ms") or resolved[name].key == name:
            yield name, bounds_of(name)


def numbers_of(resolved: Mapping[str, ResolvedSetting]) -> dict[str, int]:
    """Return the numbers that a group sets itself."""
    return {
        name: _resolved_number(resolved, name)
        for name in _BOUNDED
        if resolved[name].key == name and resolved[name].source != DEFAULT_SOURCE
    }


def _resolved_number(resolved: Mapping[str, ResolvedSetting], name: str) -> int:
    value = resolved[name].value
    assert isinstance(value, int), f"{name} is a number"
    return value
