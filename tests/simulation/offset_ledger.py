"""Ledger of the committed offsets: each commit that the broker took, and what became of it.

    delivered ──► accepted    its offset is the committed one, unless a later commit is
             ├──► rejected    it has no effect
             └──► unknown     the broker has crashed, or its append failed: either

A commit in a transaction counts once that is committed, at its place among the others. Requests
may arrive twice and late, so an offset may go back by a request of its own client: that is asked
for. No other client can move it back, because each begins at the offset that it has read.

A member of a consumer group may commit any partition in its present epoch, as in Kafka, and keeps
that epoch while it gives up others. So its repeated commit may come after one of the next owner.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from cordwood.core.types import TopicPartition
from tests.simulation.transaction_ledger import KEPT, Outcome, Transaction
from tests.simulation.world import World

COMMITTED: Final = "a committed offset never goes back unasked"

Answered = Callable[[bool | None], None]
"""Takes whether the commit was accepted, None if that is unknown."""


@dataclass(slots=True, eq=False)
class Commit:
    """One delivery of a commit of one partition."""

    client: str
    offset: int
    began: int
    transaction: Transaction | None
    ended: int | None = None
    is_accepted: bool | None = None

    def __str__(self) -> str:
        return f"{self.offset} of {self.client} ({self.began} to {self.ended})"


class OffsetLedger:
    """The commits of one group, by partition, in the order of their deliveries.

    `is_fenced` if the group has members, so that it rejects the commits of former ones. With
    `may_repeat` members have epochs of their own.
    """

    def __init__(self, world: World, *, is_fenced: bool, may_repeat: bool = False) -> None:
        self._world = world
        self._is_fenced = is_fenced
        self._may_repeat = may_repeat
        self._commits = defaultdict[TopicPartition, list[Commit]](list)
        self._order = 0

    def deliver(
        self, client: str, offsets: Mapping[TopicPartition, int], transaction: Transaction | None
    ) -> Callable[[TopicPartition, bool | None], None]:
        """Take a commit; return a function that takes what the broker answered."""
        self._order += 1
        made = {
            partition: Commit(client, offset, self._order, transaction)
            for partition, offset in offsets.items()
        }
        for partition, commit in made.items():
            self._commits[partition].append(commit)

        def answer(partition: TopicPartition, is_accepted: bool | None) -> None:  # noqa: FBT001  called by position
            commit = made[partition]
            commit.is_accepted = is_accepted
            self._order += 1
            # One that is unknown may still be written, by no later event than this.
            commit.ended = self._order
            if is_accepted and transaction is None and self._is_fenced:
                self._ensure_not_back(partition, commit)

        return answer

    def check(
        self,
        partition: TopicPartition,
        committed: int,
        *,
        is_seen: Callable[[Transaction], bool | None],
    ) -> None:
        """Check the committed offset of a partition, -1 without one.

        `is_seen` returns whether a transaction has an effect, None if that is not known.
        """
        commits = self._commits[partition]
        latest = max((each.began for each in commits if _counts(each, is_seen)), default=0)
        if committed < 0 and not latest:
            return
        if any(
            each.offset == committed
            and (each.ended is None or each.ended > latest)
            and _may_count(each, is_seen)
            for each in commits
        ):
            return
        is_old = committed < 0 or any(each.offset == committed for each in commits)
        known = ", ".join(str(each) for each in commits if _may_count(each, is_seen))
        self._world.violate(
            KEPT if is_old else COMMITTED,
            f"{partition} has {committed}; commits that count: {known} (from {latest})",
        )

    def _ensure_not_back(self, partition: TopicPartition, commit: Commit) -> None:
        """Check that no client moves an offset back that another one has committed."""
        earlier = [
            each
            for each in self._commits[partition]
            if each.is_accepted
            and each.ended is not None
            and each.ended <= commit.began
            and each.transaction is None
        ]
        if not earlier or (
            self._may_repeat and any(_is_repeated(commit, each) for each in earlier)
        ):
            return
        if any(
            each.is_accepted is None
            and each.ended is not None
            and each.began > earlier[-1].began
            and each.offset <= commit.offset
            for each in self._commits[partition]
        ):
            return  # a late commit, which the broker wrote before it crashed
        if earlier[-1].client != commit.client and earlier[-1].offset > commit.offset:
            self._world.violate(
                COMMITTED, f"{partition}: {commit} after {earlier[-1]}, of another client"
            )


def _is_repeated(commit: Commit, first: Commit) -> bool:
    return (commit.client, commit.offset) == (first.client, first.offset)


def _counts(commit: Commit, is_seen: Callable[[Transaction], bool | None]) -> bool:
    """Return whether a commit certainly has its effect."""
    if not commit.is_accepted:
        return False
    return commit.transaction is None or is_seen(commit.transaction) is True


def _may_count(commit: Commit, is_seen: Callable[[Transaction], bool | None]) -> bool:
    """Return whether a commit can have an effect."""
    if commit.is_accepted is False:
        return False
    return commit.transaction is None or is_seen(commit.transaction) is not False


def by_outcome(transaction: Transaction) -> bool | None:
    """Return whether a transaction certainly has an effect, or none, while the simulation runs.

    Its markers may be on their way, so a committed one is not certain.
    """
    if transaction.outcome in {Outcome.COMMITTED, Outcome.COMMIT_ASKED}:
        return None
    return False
