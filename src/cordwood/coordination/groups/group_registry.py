"""Groups of a shard by their ids (Kafka: `GroupMetadataManager.groups`)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Self

from cordwood.coordination.groups.group import Group
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.protocol.messages.list_groups import ListedGroup


class GroupFilter(NamedTuple):
    """The filters of ListGroups, which ignore case; an empty one matches every group."""

    states: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()

    @classmethod
    def of(cls, states: Iterable[str], types: Iterable[str]) -> Self:
        """Return the filters of a request."""
        return cls(
            frozenset(each.strip().lower() for each in states),
            frozenset(each.lower() for each in types),
        )

    def matches(self, group: Group) -> bool:
        """Return whether a group is listed."""
        return (not self.states or group.state_name.lower() in self.states) and (
            not self.types or group.group_type.value in self.types
        )


class GroupPage(NamedTuple):
    """Some groups of a shard: a list of many is answered in parts."""

    filters: GroupFilter
    group_ids: Iterable[str]


class GroupRegistry:
    """All groups of one shard, of both kinds; an id has one group."""

    def __init__(self) -> None:
        self._groups = dict[str, Group]()

    def __iter__(self) -> Iterator[Group]:
        return iter(tuple(self._groups.values()))

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def by_id(self) -> Mapping[str, Group]:
        """All groups by id, for lookups that expect to miss."""
        return self._groups

    def get(self, group_id: str) -> Group:
        """Return a group; raise GROUP_ID_NOT_FOUND if it does not exist."""
        group = self._groups.get(group_id)
        if group is None:
            raise GroupIdNotFoundError(f"Group {group_id} not found.")
        return group

    def put(self, group: Group) -> None:
        """Add a group; it takes the place of another one with its id."""
        self._groups[group.group_id] = group

    def remove(self, group: Group) -> None:
        """Remove a group; a group that has taken its place stays."""
        if self._groups.get(group.group_id) is group:
            del self._groups[group.group_id]

    def listed(self, page: GroupPage) -> list[ListedGroup]:
        """Return the groups of a page that exist, and match the filters."""
        groups = map(self._groups.get, page.group_ids)
        return [
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state_name,
                group_type=group.group_type.value,
            )
            for group in groups
            if group is not None and page.filters.matches(group)
        ]
