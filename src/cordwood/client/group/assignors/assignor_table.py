"""The assignors by name, the values of `partition.assignment.strategy`.

The class names of Java's client are accepted too.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from cordwood.client.group.assignors.assignor import Assignor
from cordwood.client.group.assignors.range_assignment import RANGE
from cordwood.client.group.assignors.round_robin_assignment import ROUND_ROBIN
from cordwood.client.group.assignors.sticky_assignment import COOPERATIVE_STICKY
from cordwood.core.errors import SettingError

_JAVA: Final = "org.apache.kafka.clients.consumer."

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType(
    {each.name: each for each in (RANGE, ROUND_ROBIN, COOPERATIVE_STICKY)}
    | {
        f"{_JAVA}RangeAssignor": RANGE,
        f"{_JAVA}RoundRobinAssignor": ROUND_ROBIN,
        f"{_JAVA}CooperativeStickyAssignor": COOPERATIVE_STICKY,
    }
)


def assignors_of(names: Iterable[str]) -> tuple[Assignor, ...]:
    """Return the assignors of a setting in its order; SettingError for an unknown name."""
    found = tuple(dict.fromkeys(_assignor(name.strip()) for name in names))
    if not found:
        raise _invalid("is empty")
    return found


def _assignor(name: str) -> Assignor:
    found = ASSIGNORS.get(name)
    if found is None:
        raise _invalid(f"has the unknown assignor {name!r}")
    return found


def _invalid(problem: str) -> SettingError:
    known = ", ".join(name for name in ASSIGNORS if not name.startswith(_JAVA))
    key = "partition.assignment.strategy"
    return SettingError(f"setting {key} {problem}", key=key, remedy=f"give one or more of {known}")
