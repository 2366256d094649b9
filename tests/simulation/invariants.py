"""Invariants of a simulation, as it runs and after its end.

While it runs, faults are injected; in the end the network and the broker are sound for a time that
is longer than all timeouts, and the clients that are alive go on to poll.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.outcome import Ticket
from cordwood.core.types import PartitionId, TopicPartition
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from tests.simulation.group_client import GROUP, GroupClient
from tests.simulation.network import Network
from tests.simulation.offset_ledger import OffsetLedger, by_outcome
from tests.simulation.ownership import Ownership, member_ids
from tests.simulation.simulated_broker import INPUT, SimulatedBroker
from tests.simulation.transaction_ledger import Transaction, TransactionLedger

ENDS: Final = "the last stable offset moves on once transactions end"
CONVERGED: Final = "in the end the members share all partitions"
ONCE: Final = "each record is transformed exactly once"
SERVED: Final = "every request is answered in the end"

_TICKET: Final = Ticket(0)


class Invariants:
    """The checks of one simulation."""

    def __init__(
        self,
        broker: SimulatedBroker,
        *,
        transactions: TransactionLedger,
        offsets: dict[str, OffsetLedger],
        ownership: Ownership,
    ) -> None:
        self._broker = broker
        self._world = broker.world
        self._transactions = transactions
        self._offsets = offsets
        self._ownership = ownership
        ownership.members = self._member_ids

    def check(self, members: Iterable[GroupClient]) -> None:
        """Check what holds at any time."""
        self._transactions.check()
        shard = self._shard()
        if shard is not None:
            self._check_offsets(shard)
            self._ownership.check(shard, (each.owner for each in members), GROUP)

    def is_settled(self, members: list[GroupClient], network: Network) -> bool:
        """Return whether nothing is left to happen before the end."""
        return not (any(self._open_ends()) or any(self._shares(members)) or network.waiting)

    def settle(self, members: list[GroupClient], network: Network, *, is_exact: bool) -> None:
        """Check what holds in the end; `is_exact` if the group's offsets are transactional."""
        for text in self._open_ends():
            self._world.violate(ENDS, text)
        self._transactions.settle()
        self.check(members)
        for text in self._shares(members):
            self._world.violate(CONVERGED, text)
        if network.waiting:
            self._world.violate(SERVED, f"{network.waiting} requests wait in the broker")
        if is_exact:
            self._ensure_once()

    def _shard(self) -> GroupShard | None:
        incarnation = self._broker.incarnation
        if incarnation is None:
            return None
        return incarnation.whole_group_shard()

    def _member_ids(self) -> list[str]:
        shard = self._shard()
        return [] if shard is None else member_ids(shard, GROUP)

    # -- offsets

    def _check_offsets(self, shard: GroupShard) -> None:
        for group_id, ledger in self._offsets.items():
            for partition, committed in self._committed(shard, group_id).items():
                ledger.check(partition, committed, is_seen=self._is_seen)

    def _committed(self, shard: GroupShard, group_id: str) -> dict[TopicPartition, int]:
        """Return the committed offsets of the input's partitions."""
        numbers = [*range(self._broker.partitions)]
        topic = OffsetFetchRequestTopic(name=INPUT, partition_indexes=numbers)
        group = OffsetFetchRequestGroup(group_id=group_id, topics=[topic])
        request = OffsetFetchRequest(groups=[group])
        outcome = shard.offset_fetch(request, ClientContext(8), ticket=_TICKET, now_ms=0)
        (answer,) = outcome.answers
        assert isinstance(answer.response, OffsetFetchResponse), answer
        return {
            TopicPartition(INPUT, PartitionId(each.partition_index)): each.committed_offset
            for each in answer.response.groups[0].topics[0].partitions
        }

    def _is_seen(self, transaction: Transaction) -> bool | None:
        if transaction in self._transactions.seen:
            return True
        if self._world.is_over and transaction.texts:
            return False
        return by_outcome(transaction)

    # -- the end

    def _shares(self, members: list[GroupClient]) -> Iterator[str]:
        """Yield why the members do not share all partitions."""
        owned = Counter(each for member in members for each in member.membership.owned)
        wanted = {
            TopicPartition(INPUT, PartitionId(each)): 1 for each in range(self._broker.partitions)
        }
        if members and dict(owned) != wanted:
            shares = {each.name: sorted(each.membership.owned) for each in members}
            states = {each.name: each.membership.state.value for each in members}
            yield f"{shares} in {states}"
        for each in members:
            if not each.is_settled:
                yield f"{each.name} is {each.membership.state.value}"

    def _open_ends(self) -> Iterator[str]:
        """Yield the transactions that have not ended, by log and by coordinator."""
        for log in self._broker.all_logs:
            bounds = log.bounds
            if bounds.last_stable != bounds.log_end:
                yield f"{log.name}: {bounds}"
        incarnation = self._broker.incarnation
        assert incarnation is not None, "the broker runs in the end"
        for shard in incarnation.transactions.shards():
            for each in shard.transactions:
                if not each.state.is_idle:
                    yield str(each)

    def _ensure_once(self) -> None:
        """Compare the output with the input below the committed offsets."""
        shard = self._shard()
        assert shard is not None, "the coordinator serves in the end"
        found = defaultdict[int, list[int]](list)
        for content in self._transactions.contents():
            number, offset = content.split(":")
            found[int(number)].append(int(offset))
        for partition, committed in self._committed(shard, GROUP).items():
            seen = sorted(found[partition.partition])
            if seen != [*range(max(committed, 0))]:
                self._world.violate(ONCE, f"{partition} has {committed}, the output {seen}")
