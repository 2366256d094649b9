"""Registrations of the live brokers (Kafka: `registerBroker`, `CheckedEphemeral`).

A registration ends with the session of its broker. Its transaction is the broker epoch, so a broker
that registers again has a larger one.

An id that is registered by another session is refused. The exception is a session that this process
had before: ZooKeeper can keep the node of a session that has ended (ZOOKEEPER-2985), and that node
is replaced.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from cordwood.cluster.controller.context.live_broker import LiveBroker
from cordwood.cluster.zookeeper.client.zookeeper_client import (
    NO_SESSION,
    StoredNode,
    ZooKeeperClient,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import NodeExistsError
from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests, repeated
from cordwood.cluster.zookeeper.znodes.broker_znode import (
    BrokerRegistration,
    decode_broker,
    encode_broker,
    registration_version,
)
from cordwood.cluster.zookeeper.znodes.cluster_paths import (
    BROKER_IDS,
    BROKER_SEQUENCE_ID,
    broker_path,
)
from cordwood.core.errors import DuplicateBrokerRegistrationError


class BrokerRegistry:
    """Registrations, read and written by one broker."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._requests = RetriedRequests(client)
        #: Sessions with which this process has registered.
        self._sessions: Final = set[int]()

    async def register(self, broker: BrokerRegistration) -> int:
        """Register a broker and return its epoch; DuplicateBrokerRegistrationError.

        The registration lasts as long as the session.
        """
        path, data = broker_path(broker.broker_id), encode_broker(broker)
        while True:
            self._remember(self._client.session_id)
            try:
                created = await self._requests.create(path, data, ephemeral=True)
            except NodeExistsError:
                epoch = await self._epoch_of_own(broker, data)
                if epoch is None:
                    continue
                return epoch
            self._remember(created.stat.ephemeral_owner)
            return created.stat.czxid

    async def update(self, broker: BrokerRegistration) -> None:
        """Change the own registration, which keeps its epoch (Kafka: `updateBrokerInfo`)."""
        path, data = broker_path(broker.broker_id), encode_broker(broker)
        await repeated(lambda: self._client.set(path, data))

    async def live(self) -> list[LiveBroker]:
        """Return the registered brokers with their epochs, by id; DamagedFileError."""
        ids = sorted(int(name) for name in await self._requests.children(BROKER_IDS))
        nodes = await self._requests.get_all([broker_path(each) for each in ids])
        return list(_live_brokers(zip(ids, nodes, strict=True)))

    async def versions(self) -> dict[int, int]:
        """Return the version of each registration, which an old protocol lowers."""
        ids = sorted(int(name) for name in await self._requests.children(BROKER_IDS))
        nodes = await self._requests.get_all([broker_path(each) for each in ids])
        return {
            broker_id: registration_version(broker_id, node.data)
            for broker_id, node in zip(ids, nodes, strict=True)
            if node is not None
        }

    async def until_unregistered(self, broker_id: int) -> None:
        """Wait until an id is free: a process that was killed keeps its id for a session."""
        path = broker_path(broker_id)
        while True:
            changed = asyncio.Event()
            if await self._requests.exists(path, watch=changed.set) is None:
                return
            await changed.wait()

    async def next_broker_id(self, *, largest_reserved: int) -> int:
        """Return a new id above the reserved ones (Kafka: `generateBrokerId`)."""
        stat = await repeated(lambda: self._client.set(BROKER_SEQUENCE_ID, b""))
        return largest_reserved + stat.version

    def _remember(self, session_id: int) -> None:
        if session_id != NO_SESSION:
            self._sessions.add(session_id)

    async def _epoch_of_own(self, broker: BrokerRegistration, data: bytes) -> int | None:
        """Return the epoch if the node is ours, None if it is gone; else raise."""
        path = broker_path(broker.broker_id)
        node = await self._requests.get(path)
        if node is None:
            return None
        owner = node.stat.ephemeral_owner
        if owner == self._client.session_id:
            self._remember(owner)
            if node.data != data:
                await self.update(broker)
            return node.stat.czxid
        if owner in self._sessions:
            await self._requests.delete_all([path])
            return None
        raise DuplicateBrokerRegistrationError(_duplicate(broker.broker_id, node))


def _live_brokers(
    nodes: Iterable[tuple[int, StoredNode | None]],
) -> Iterable[LiveBroker]:
    for broker_id, node in nodes:
        if node is not None:
            yield decode_broker(broker_id, node.data).live(node.stat.czxid)


def _duplicate(broker_id: int, node: StoredNode) -> str:
    endpoints = decode_broker(broker_id, node.data).endpoints
    addresses = ", ".join(f"{each.listener}://{each.host}:{each.port}" for each in endpoints)
    return (
        f"broker id {broker_id}: another broker is registered with it ({addresses}, ZooKeeper "
        f"session {node.stat.ephemeral_owner:#x}); set another broker.id, or wait for the end of "
        "that session if it belongs to a broker that was killed"
    )
