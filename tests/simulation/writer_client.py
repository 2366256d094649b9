"""Transactional producer without a membership: pairs of records, and offsets of a simple group.

Each transaction writes to both output partitions and commits an offset. Now and then the process
commits an offset of the same group outside of its transaction.
"""

from typing import TYPE_CHECKING, Final

from cordwood.client.group.offset_messages import commit_topics
from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.core.types import PartitionId, TopicPartition
from cordwood.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from tests.simulation.client_process import ClientProcess
from tests.simulation.network import Answered, Channel, Network, OnAnswered
from tests.simulation.simulated_broker import INPUT, OUTPUTS
from tests.simulation.transactional_client import TransactionalClient
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.offset_ledger import OffsetLedger

SIMPLE_GROUP: Final = "s"
PARTITION: Final = TopicPartition(INPUT, PartitionId(0))
_ABORTS: Final = 0.25
_COMMITS_ALONE: Final = 0.2


class WriterClient(ClientProcess):
    """One incarnation of a writer; `start` is its first offset, above all earlier ones."""

    def __init__(self, name: str, world: World, network: Network, *, start: int) -> None:
        super().__init__(name, world, network)
        self.producer: TransactionalClient | None = None
        self.offsets: OffsetLedger | None = None
        self._next = start
        self._commits = Channel(name, is_ordered=True)

    async def run(self) -> None:
        """Run transactions until the process ends."""
        producer = self.producer
        assert producer is not None, "the scene gives the process a producer"
        await producer.initialize()
        while not producer.is_fatal:
            if self.is_working:
                await self._work(producer)
            await self.sleep(self.world.random.uniform(100, 1_000))
        self.note("is fenced")
        self.die()

    async def _work(self, producer: TransactionalClient) -> None:
        random = self.world.random
        self._next += 1
        if random.random() < _COMMITS_ALONE:
            self.begin(self._commit(self._next))
            self._next += 1
        await producer.transact(
            {each: [f"w:{self._next}"] for each in OUTPUTS if random.random() < 0.9},
            offsets={PARTITION: self._next},
            group=GroupMetadata(SIMPLE_GROUP) if random.random() < 0.7 else None,
            is_commit=random.random() >= _ABORTS,
        )

    async def _commit(self, offset: int) -> None:
        """Commit an offset outside of the transaction."""
        request = OffsetCommitRequest(
            group_id=SIMPLE_GROUP,
            member_id="",
            topics=commit_topics({PARTITION: GroupOffset(offset)}),
        )

        def served() -> OnAnswered:
            assert self.offsets is not None, "the scene gives the process a ledger"
            answer = self.offsets.deliver(self.name, {PARTITION: offset}, None)

            def answered(response: Answered | None) -> None:
                is_accepted = None
                if isinstance(response, OffsetCommitResponse):
                    is_accepted = not response.topics[0].partitions[0].error_code
                answer(PARTITION, is_accepted)

            return answered

        await self.call(self._commits, request, 9, on_served=served)
