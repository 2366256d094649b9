"""Rows about groups: offsets with lag, members, states."""

import pytest

from cordwood.cli.groups.group_rows import (
    GroupProgress,
    assignment_text,
    lag_seconds,
    member_rows,
    offset_rows,
    state_message,
    state_row,
)
from cordwood.client.group_offset import GroupOffset
from tests.unit.cli.groups.group_samples import described, member, place

A0, A1, B0 = place("a", 0), place("a", 1), place("b", 0)
PROGRESS = GroupProgress(
    group=described(member("m1", B0), member("m2", A1, A0)),
    committed={A0: GroupOffset(3, "", 2), B0: GroupOffset(7), place("c", 0): GroupOffset(1)},
    log_ends={A0: 5, A1: 9, B0: 7},
    waiting_since={A0: 1_500, B0: None},
)


def test_offset_rows_begin_with_the_largest_assignment_and_end_with_free_partitions() -> None:
    rows = offset_rows(PROGRESS, now_ms=4_000, is_verbose=False)

    assert [(row["TOPIC"], row["PARTITION"], row["CONSUMER-ID"]) for row in rows] == [
        ("a", 0, "m2"),
        ("a", 1, "m2"),
        ("b", 0, "m1"),
        ("c", 0, None),
    ]


def test_offset_rows_have_the_lag_in_records_and_seconds() -> None:
    rows = offset_rows(PROGRESS, now_ms=4_000, is_verbose=False)

    titles = ("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "LAG-SECONDS")
    assert [tuple(row[title] for title in titles) for row in rows] == [
        (3, 5, 2, 2.5),
        (None, 9, None, None),
        (7, 7, 0, 0.0),
        (1, None, None, None),
    ]


def test_verbose_offset_rows_have_the_leader_epoch() -> None:
    rows = offset_rows(PROGRESS, now_ms=0, is_verbose=True)

    assert [row["LEADER-EPOCH"] for row in rows] == [2, None, None, None]


def test_lag_of_a_record_from_the_future_is_zero() -> None:
    assert lag_seconds(PROGRESS, A0, now_ms=1_000) == 0.0


def test_member_rows_count_partitions() -> None:
    rows = member_rows(PROGRESS.group, is_verbose=False)

    assert [(row["CONSUMER-ID"], row["#PARTITIONS"]) for row in rows] == [("m1", 1), ("m2", 2)]
    assert "GROUP-INSTANCE-ID" not in rows[0]


def test_verbose_member_rows_have_assignments_and_epochs() -> None:
    group = described(member("m", B0, A0, instance="static"))

    (row,) = member_rows(group, is_verbose=True)

    assert (row["GROUP-INSTANCE-ID"], row["CURRENT-EPOCH"], row["TARGET-EPOCH"]) == ("static", 3, 3)
    assert (row["CURRENT-ASSIGNMENT"], row["TARGET-ASSIGNMENT"]) == ("a:0;b:0", "a:0;b:0")


def test_assignment_is_grouped_by_topic() -> None:
    assert assignment_text([B0, A1, A0]) == "a:0,1;b:0"
    assert assignment_text([]) is None


def test_state_row_names_the_coordinator() -> None:
    row = state_row(described(), address="saw:9092", is_verbose=True)

    assert (row["COORDINATOR (ID)"], row["STATE"], row["#MEMBERS"]) == ("saw:9092 (1)", "Stable", 0)
    assert (row["GROUP-EPOCH"], row["TARGET-ASSIGNMENT-EPOCH"]) == (4, 3)


@pytest.mark.parametrize(
    ("state", "message"),
    (
        ("Stable", None),
        ("Empty", "group 'billing': has no active members"),
        ("Reconciling", "group 'billing': is rebalancing"),
        ("PreparingRebalance", "group 'billing': is rebalancing"),
    ),
)
def test_message_is_about_a_group_that_is_not_stable(state: str, message: str | None) -> None:
    assert state_message(described(state=state)) == message


def test_verbose_member_rows_have_the_protocol_while_members_differ() -> None:
    old, new = member("a", is_upgraded=False), member("b")
    unknown = member("c", is_upgraded=None)

    mixed = member_rows(described(old, new, unknown), is_verbose=True)

    assert [row["UPGRADED"] for row in mixed] == ["false", "true", None]
    assert "UPGRADED" not in member_rows(described(old, new), is_verbose=False)[0]
    assert "UPGRADED" not in member_rows(described(new, unknown), is_verbose=True)[0]
