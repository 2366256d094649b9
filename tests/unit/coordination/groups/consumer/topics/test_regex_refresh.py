"""Expressions are resolved when one is new, when topics are new, or after a time."""

from dataclasses import replace

import pytest

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.coordination.groups.consumer.topics.regex_refresh import (
    RegexRefreshes,
    RegexUpdate,
    update_regex,
)
from cordwood.coordination.topic_view import Topics
from cordwood.core.errors import InvalidRegularExpressionError

PLAIN = ConsumerGroupMember(member_id="m")
MATCHING = replace(PLAIN, topic_regex="x")
OTHER = replace(PLAIN, topic_regex="y")
LAST_MS = 1_000


def group_of(*members: ConsumerGroupMember, is_resolved: bool = True) -> ConsumerGroup:
    group = ConsumerGroup("g")
    for number, each in enumerate(members):
        group.update_member(replace(each, member_id=str(number)))
    for regex in group.subscriptions.regexes if is_resolved else ():
        group.resolve_regex(regex, ResolvedRegularExpression(frozenset({"a"}), 5, LAST_MS))
    return group


def due(
    refreshes: RegexRefreshes,
    group: ConsumerGroup,
    *,
    now_ms: int,
    after: ConsumerGroupMember = MATCHING,
    is_new: bool = False,
) -> list[tuple[str, ...]]:
    """Return the expressions of the resolutions that a heartbeat has begun."""
    refreshes.request(
        group,
        (MATCHING, after),
        client=ClientContext(1),
        view=Topics(),
        now_ms=now_ms,
        is_new=is_new,
    )
    return [each.regexes for each in refreshes.take_due()]


def refreshes() -> RegexRefreshes:
    return RegexRefreshes(interval_ms=600_000)


def test_group_without_expressions_resolves_none() -> None:
    assert due(refreshes(), group_of(PLAIN), now_ms=LAST_MS + 700_000) == []


def test_unresolved_expression_is_resolved() -> None:
    assert due(refreshes(), group_of(MATCHING, is_resolved=False), now_ms=0) == [("x",)]


def test_new_expression_waits_for_ten_seconds_after_the_last_resolution() -> None:
    found, group = refreshes(), group_of(MATCHING, MATCHING)

    assert due(found, group, now_ms=LAST_MS + 10_000, after=OTHER, is_new=True) == []
    assert due(found, group, now_ms=LAST_MS + 10_001, after=OTHER, is_new=True) == [("x", "y")]


def test_one_resolution_runs_at_a_time() -> None:
    found, group = refreshes(), group_of(MATCHING, is_resolved=False)
    assert due(found, group, now_ms=0) == [("x",)]
    assert due(found, group, now_ms=0) == []

    found.ended("g")
    assert due(found, group, now_ms=0) == [("x",)]


def test_created_topics_are_matched_later() -> None:
    found, group = refreshes(), group_of(MATCHING)
    assert due(found, group, now_ms=LAST_MS + 20_000) == []

    found.topics_created_version = 6
    assert due(found, group, now_ms=LAST_MS + 20_000) == [("x",)]


def test_expressions_are_resolved_again_after_the_interval() -> None:
    found, group = refreshes(), group_of(MATCHING)

    assert due(found, group, now_ms=LAST_MS + 600_000) == []
    assert due(found, group, now_ms=LAST_MS + 600_001) == [("x",)]


def test_nothing_is_resolved_when_the_last_expression_goes() -> None:
    found = refreshes()

    assert due(found, group_of(MATCHING), now_ms=LAST_MS + 700_000, after=PLAIN) == []


@pytest.mark.parametrize(
    ("members", "before", "after", "expected"),
    (
        ((MATCHING,), MATCHING, MATCHING, (RegexUpdate.NO_CHANGE, False)),
        ((PLAIN,), PLAIN, MATCHING, (RegexUpdate.UPDATED, True)),
        ((PLAIN, MATCHING), PLAIN, MATCHING, (RegexUpdate.UPDATED_AND_RESOLVED, False)),
        ((MATCHING,), MATCHING, PLAIN, (RegexUpdate.UPDATED_AND_RESOLVED, False)),
    ),
)
def test_update_raises_the_epoch_once_topics_are_known(
    members: tuple[ConsumerGroupMember, ...],
    before: ConsumerGroupMember,
    after: ConsumerGroupMember,
    expected: tuple[RegexUpdate, bool],
) -> None:
    assert update_regex(group_of(*members), before, after=after, written=[]) == expected


def test_known_expression_without_topics_raises_no_epoch() -> None:
    group = group_of(MATCHING, is_resolved=False)

    found = update_regex(group, PLAIN, after=MATCHING, written=[])

    assert found == (RegexUpdate.UPDATED, False)


def test_last_subscriber_deletes_the_topics_of_its_expression() -> None:
    alone, shared = list[CoordinatorRecord](), list[CoordinatorRecord]()

    update_regex(group_of(MATCHING), MATCHING, after=PLAIN, written=alone)
    update_regex(group_of(MATCHING, MATCHING), MATCHING, after=PLAIN, written=shared)

    assert [(each.type, each.value) for each in alone] == [(16, None)]
    assert shared == []


def test_new_expression_is_compiled() -> None:
    with pytest.raises(InvalidRegularExpressionError):
        update_regex(group_of(), PLAIN, after=replace(PLAIN, topic_regex="("), written=[])
