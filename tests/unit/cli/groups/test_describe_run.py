"""Groups of a broker are read for their description."""

from cordwood.cli.groups.describe_run import (
    describe_members,
    describe_offsets,
    describe_states,
)
from tests.unit.cli.groups.group_samples import make_group, running_member


def test_offsets_are_of_committed_and_assigned_partitions(bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})

    with running_member(bootstrap):
        rows = describe_offsets({"bootstrap.servers": bootstrap}, ["billing"], is_verbose=False)

    assert [(row["PARTITION"], row["LAG"], row["HOST"]) for row in rows] == [
        (0, 3, "/127.0.0.1"),
        (1, None, "/127.0.0.1"),
    ]


def test_members_and_states_are_of_all_groups(bootstrap: str) -> None:
    make_group(bootstrap, {("orders", 0): 1})
    make_group(bootstrap, {("orders", 0): 1}, group="simple")
    config = {"bootstrap.servers": bootstrap}

    with running_member(bootstrap):
        (member,) = describe_members(config, [], is_verbose=False)
        states = describe_states(config, [], is_verbose=False)

    assert (member["GROUP"], member["#PARTITIONS"]) == ("billing", 2)
    assert [(row["GROUP"], row["STATE"]) for row in states] == [
        ("billing", "Stable"),
        ("simple", "Empty"),
    ]
