"""Vote of the members on the protocol of a generation (Kafka: `ClassicGroup.selectProtocol`).

Each member votes for the first of its protocols that all members support. Among protocols with the
same number of votes Kafka takes the first one in the order of a Java hash map. The same order here
gives mixed clusters and comparisons with Kafka the same protocol.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from cordwood.coordination.groups.classic.classic_group_member import ClassicGroupMember
from cordwood.core.java_hash import java_hash

_MASK: Final = 0xFFFF_FFFF
_SMALLEST_TABLE: Final = 16


def select_protocol(members: Collection[ClassicGroupMember], support: Counter[str]) -> str:
    """Return the protocol with the most votes; `support` counts the members of each protocol."""
    candidates = {name for name, count in support.items() if count == len(members)}
    votes = Counter(member.vote(candidates) for member in members)
    return max(hash_map_order(votes), key=votes.__getitem__)


def hash_map_order(names: Iterable[str], *, among: int = 0) -> list[str]:
    """Return the order in which Java iterates over a hash map that got these keys.

    If they are a part of its keys, `among` is the number of all.
    """
    inserted = list(dict.fromkeys(names))
    count, table = max(among, len(inserted)), _SMALLEST_TABLE
    while count * 4 > table * 3:
        table *= 2
    return sorted(inserted, key=lambda name: _spread(name) & (table - 1))


def _spread(name: str) -> int:
    value = java_hash(name) & _MASK
    return value ^ (value >> 16)
