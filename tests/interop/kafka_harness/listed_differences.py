"""Differences between a running Kafka and ours that docs/quirks.md lists with their reasons.

After one of them the state of the group is another one in both, so that a sequence of requests
cannot go on.
"""

import time
from typing import Final, NamedTuple

from cordwood.coordination.groups.classic.protocol_vote import hash_map_order
from cordwood.core.errors import (
    GroupMaxSizeReachedError,
    InvalidRequestError,
    UnknownMemberIdError,
    UnsupportedAssignorError,
)
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.join_group import JoinGroupRequest
from tests.interop.kafka_harness.group_requests import Asked
from tests.interop.kafka_harness.ordered_shard import OrderedShard

#: The time in which no timer of Kafka is due, and no regular expression is resolved again.
TIMELY_S: Final = 8.0
_NO_CONVERSION: Final = frozenset({0, InvalidRequestError.code, UnsupportedAssignorError.code})


class AssignmentState(NamedTuple):
    """The epochs of a consumer group, and whether all members subscribe the same topics."""

    group_epoch: int = 0
    assignment_epoch: int = 0
    is_homogeneous: bool = True


class ListedDifferences:
    """The group of a shard before a request and after it."""

    def __init__(self, ours: OrderedShard) -> None:
        self._ours = ours
        self._begun_s = self._asked_s = time.monotonic()
        #: The time after such a request in which no timer of Kafka fires.
        self.timely_s = TIMELY_S
        #: All members that the consumer group has had.
        self._member_ids = set[str]()
        self._before = AssignmentState()
        self._was_classic = False
        self._was_empty = False

    def ask(self) -> None:
        """Note the time of a request before which no timer is due soon."""
        self._asked_s = time.monotonic()

    def wait(self, due_ms: int) -> None:
        """Wait until a timer of Kafka has fired that such a request has set."""
        while time.monotonic() < self._asked_s + due_ms / 1_000:
            time.sleep(0.005)

    def leave_out(self, waited_s: float) -> None:
        """Leave the time out in which timers were waited for."""
        self._begun_s += waited_s
        self._asked_s = time.monotonic()

    def begin(self) -> None:
        """Note the group before a request."""
        group = self._ours.consumer_group
        self._was_classic = self._ours.classic_group is not None
        self._was_empty = group is not None and group.is_empty
        self._before = self._assignment_state()

    def of_assignment(self) -> str:
        """Return the difference of targets that the request has made, none as an empty text.

        If the group epoch does not rise, Kafka's assignor takes the kind of the subscriptions
        before the request: it can assign topics to a member that does not subscribe them.
        """
        before, after = self._before, self._assignment_state()
        is_stale = (
            after.group_epoch == before.group_epoch
            and after.assignment_epoch != before.assignment_epoch
            and after.is_homogeneous != before.is_homogeneous
        )
        return "the assignor has the subscriptions before the request" if is_stale else ""

    def of_answer(self, asked: Asked, *, ends_others: bool) -> str:
        """Return the difference of an answer, none as an empty text."""
        code = getattr(self._ours.answer_of(asked), "error_code", 0)
        match asked.request:
            case JoinGroupRequest() if self._was_empty and code == UnknownMemberIdError.code:
                return "a rejected join removes an empty consumer group"
            case JoinGroupRequest() if ends_others and code == GroupMaxSizeReachedError.code:
                return "others wait for a member that has no place"
            case ConsumerGroupHeartbeatRequest(member_epoch=0) if self._was_classic:
                if code not in _NO_CONVERSION:
                    return "a heartbeat is rejected after its conversion"
        return ""

    def explanation(self) -> str:
        """Return why the two may differ, an empty text if they have to be equal.

        Kafka's assignors take members in the order of a hash map. Two of them in one bucket have
        the order of their insertion, which is in no record.
        """
        ids = sorted(self._member_ids)
        if hash_map_order(ids) != hash_map_order(reversed(ids)):
            return "two members share a bucket"
        now_s = time.monotonic()
        is_late = now_s > self._begun_s + TIMELY_S or now_s > self._asked_s + self.timely_s
        return "the machine is slow" if is_late else ""

    def _assignment_state(self) -> AssignmentState:
        group = self._ours.consumer_group
        if group is None:
            return AssignmentState()
        self._member_ids |= {*group.members}
        is_homogeneous = group.subscriptions.is_homogeneous(len(group.members))
        return AssignmentState(group.group_epoch, group.assignment_epoch, is_homogeneous)
