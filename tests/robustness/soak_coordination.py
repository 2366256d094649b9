"""Groups and transactions of a soak: an hour of each, in which they come and go.

groups          classic ones and ones of KIP-848: members that join, commit and leave; static ones
                that close, and return; members that die; groups whose offsets expire, and groups
                that are deleted; offsets that are deleted
transactions    committed ones with offsets of a group, aborted ones, ones that time out, ones that
                another process ends; ids that expire
administrators  lists and descriptions of all these
"""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from cordwood.client.aio import Admin, Consumer, Producer
from cordwood.client.network.runtime import ClientRuntime
from cordwood.core.errors import GroupIdNotFoundError, TransactionalIdNotFoundError

if TYPE_CHECKING:
    from cordwood.client.settings import ConsumerOptions

_HOUR_MS: Final = 3_600_000
_PROTOCOLS: Final = ("classic", "consumer")
#: A name that comes every hour; other names come once.
_AGAIN: Final = "again"
_TIMEOUT_MS: Final = 20_000

#: Offsets and transactional ids expire within two hours.
SETTINGS: Final[dict[str, str]] = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "offsets.retention.minutes": "60",
    "offsets.retention.check.interval.ms": "600000",
    "transactional.id.expiration.ms": str(_HOUR_MS),
    "transaction.remove.expired.transaction.cleanup.interval.ms": "1200000",
    "group.initial.rebalance.delay.ms": "100",
}


class SoakCoordination:
    """The members, transactional producers and administrators of a broker, hour by hour."""

    def __init__(
        self, bootstrap: str, runtime: Callable[[], ClientRuntime], counts: Counter[str]
    ) -> None:
        self._bootstrap = bootstrap
        self._runtime = runtime
        self._counts = counts
        self._hour = 0

    async def come(self, topic: str) -> None:
        """Let an hour's groups and transactions come, about a topic of two partitions."""
        self._hour += 1
        async with Admin(self._bootstrap, runtime=self._runtime) as admin:
            for protocol in _PROTOCOLS:
                for name in (_AGAIN, str(self._hour)):
                    await self._come_as_group(topic, f"{protocol}-{name}", protocol, admin)
            for name in (_AGAIN, str(self._hour)):
                await self._come_as_transactions(topic, f"writer-{name}", admin)
            await self._look(admin)

    # -- groups

    def _consumer(self, group: str, protocol: str, **options: str) -> Consumer[bytes, bytes]:
        chosen: ConsumerOptions = {"group_protocol": protocol, "auto_offset_reset": "earliest"}
        if "instance" in options:
            chosen["group_instance_id"] = options["instance"]
        return Consumer(self._bootstrap, runtime=self._runtime, group=group, **chosen)

    async def _join(
        self, topic: str, group: str, protocol: str, **options: str
    ) -> Consumer[bytes, bytes]:
        consumer = self._consumer(group, protocol, **options)
        await consumer.start()
        consumer.subscribe([topic])
        while not consumer.assignment():
            await consumer.poll(1_000)
        self._counts["members"] += 1
        return consumer

    async def _come_as_group(self, topic: str, group: str, protocol: str, admin: Admin) -> None:
        """Let three members come; two go in their ways, and one dies."""
        first = await self._join(topic, group, protocol)
        await first.poll(1_000)
        await first.commit()
        await first.close()
        static = await self._join(topic, group, protocol, instance="static")
        await static.close()
        static = await self._join(topic, group, protocol, instance="static")
        await static.commit({(topic, 0): 0})
        self._counts["static members that return"] += 1
        await static.close(leave_group=group.endswith(_AGAIN))
        dead = await self._join(topic, f"{group}-of-one", protocol)
        await dead.commit({(topic, 0): 0, (topic, 1): 0})
        await dead.close(leave_group=False)
        self._counts["dead members"] += 1
        self._counts["groups"] += 2
        if group.endswith(_AGAIN):
            await admin.delete_group_offsets(group, [(topic, 0)])
            await admin.delete_groups([group])
            self._counts["deleted groups"] += 1

    # -- transactions

    def _producer(self, transactional_id: str) -> Producer[bytes, bytes]:
        return Producer(
            self._bootstrap,
            runtime=self._runtime,
            linger_ms=0,
            transactional_id=transactional_id,
            transaction_timeout_ms=_TIMEOUT_MS,
        )

    async def _come_as_transactions(self, topic: str, name: str, admin: Admin) -> None:
        async with self._producer(name) as producer:
            for number in range(4):
                await producer.begin()
                await (await producer.send(topic, b"in a transaction", partition=number % 2))
                if number % 2:
                    await producer.abort()
                    self._counts["aborted transactions"] += 1
                else:
                    await producer.send_offsets({(topic, 0): number}, f"{name}-{number}")
                    await producer.commit()
                    self._counts["committed transactions"] += 1
        for is_ended in (True, False):
            async with self._producer(name) as producer:
                await producer.begin()
                await (await producer.send(topic, b"left open", partition=0))
                await producer.send_offsets({(topic, 1): 5}, f"{name}-left")
                handle = await producer.detach()
            if is_ended:
                await admin.end_transaction(handle, commit=True)
                self._counts["detached transactions"] += 1
            else:
                self._counts["transactions that time out"] += 1
        await admin.fence_producers([f"{name}-fenced"])

    # -- administrators

    async def _look(self, admin: Admin) -> None:
        groups = await _listed_groups(admin)
        for each in groups:
            try:
                await admin.describe_groups([each])
            except GroupIdNotFoundError:
                self._expect_end("group", each, left=await _listed_groups(admin))
            await admin.list_group_offsets(each)
        for each in await _listed_ids(admin):
            try:
                await admin.describe_transactions([each])
            except TransactionalIdNotFoundError:
                self._expect_end("transactional id", each, left=await _listed_ids(admin))
        self._counts["listed groups"] += len(groups)

    def _expect_end(self, kind: str, name: str, *, left: list[str]) -> None:
        """Count what has expired between its listing and its description."""
        assert name not in left, f"hour {self._hour}: {kind} {name} is listed, and not found"
        self._counts[f"{kind}s that expire while they are described"] += 1


async def _listed_groups(admin: Admin) -> list[str]:
    return [each.group_id for each in await admin.list_groups()]


async def _listed_ids(admin: Admin) -> list[str]:
    return [each.transactional_id for each in await admin.list_transactions()]
