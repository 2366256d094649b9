"""The registry finds groups by id, and filters them for ListGroups."""

from types import SimpleNamespace
from typing import cast

import pytest

from cordwood.coordination.groups.group import Group, GroupType
from cordwood.coordination.groups.group_registry import (
    GroupFilter,
    GroupPage,
    GroupRegistry,
)
from cordwood.core.errors import GroupIdNotFoundError


def group_of(group_id: str, *, state: str = "Empty", kind: GroupType = GroupType.CLASSIC) -> Group:
    fields = {
        "group_id": group_id,
        "group_type": kind,
        "state_name": state,
        "protocol_type": "consumer",
    }
    return cast("Group", SimpleNamespace(**fields))


def registry_of(*groups: Group) -> GroupRegistry:
    registry = GroupRegistry()
    for each in groups:
        registry.put(each)
    return registry


def test_group_is_found_by_id() -> None:
    group = group_of("g")

    registry = registry_of(group, group_of("h"))

    assert registry.get("g") is group
    assert registry.by_id.get("zz") is None
    assert len(registry) == 2


def test_get_names_the_group_when_it_is_missing() -> None:
    with pytest.raises(GroupIdNotFoundError, match=r"^Group zz not found\.$"):
        registry_of().get("zz")


def test_remove_keeps_a_group_that_has_taken_the_place() -> None:
    old, new = group_of("g"), group_of("g")
    registry = registry_of(old, new)

    registry.remove(old)

    assert registry.get("g") is new


def test_groups_can_be_removed_during_an_iteration() -> None:
    registry = registry_of(group_of("g"), group_of("h"))

    for group in registry:
        registry.remove(group)

    assert not len(registry)


@pytest.mark.parametrize(
    ("states", "types", "found"),
    (
        ([], [], ["a", "b", "c"]),
        (["stable"], [], ["b", "c"]),
        (["STABLE", "Empty"], ["Classic"], ["a", "b"]),
        ([], ["CONSUMER"], ["c"]),
        (["Unknown"], [], []),
        ([], ["unknown"], []),
    ),
)
def test_listed_filters_without_case(states: list[str], types: list[str], found: list[str]) -> None:
    registry = registry_of(
        group_of("a"),
        group_of("b", state="Stable"),
        group_of("c", state="Stable", kind=GroupType.CONSUMER),
    )

    page = GroupPage(GroupFilter.of(states, types), registry.by_id)
    listed = registry.listed(page)

    assert [each.group_id for each in listed] == found


def test_listed_group_has_the_fields_of_the_response() -> None:
    registry = registry_of(group_of("g", state="Stable"))

    (listed,) = registry.listed(GroupPage(GroupFilter(), ["g"]))

    assert listed.protocol_type == "consumer"
    assert listed.group_state == "Stable"
    assert listed.group_type == "classic"


def test_page_lists_those_of_its_groups_that_exist() -> None:
    registry = registry_of(group_of("a"), group_of("b"), group_of("c"))

    listed = registry.listed(GroupPage(GroupFilter(), ["b", "gone"]))

    assert [each.group_id for each in listed] == ["b"]
