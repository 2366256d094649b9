"""Metadata of a broker that is one of several (Kafka: `KafkaServer` with ZooKeeper).

    identify   connects to ZooKeeper: the cluster's id, and an id for this broker if it has none
    open       loads configurations and logs; no replica has a role yet
    join       registers, takes part in the elections of the controller, and keeps the session
    leave      moves the leaderships of this broker to others

Roles and images come from the controller, as requests. `cluster_broker` has the parts.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from cordwood.broker.membership.broker_session import BrokerSession
from cordwood.broker.metadata.metadata_image import BrokerImage
from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.client.network.runtime import ClientRuntime
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.core.errors import DamagedFileError, SettingError
from cordwood.core.settings import DEFAULT_SOURCE, SettingSource
from cordwood.core.uuids import format_uuid, make_uuid
from cordwood.node.cluster_broker import ClusterBroker, ClusterConnections
from cordwood.node.inter_broker_protocol import ensure_protocol, ensure_registrations
from cordwood.node.metadata_source import MetadataServices, NodeFoundation, NodeIdentity
from cordwood.node.runtime import NodeRuntime
from cordwood.storage.checkpoints.meta_properties import read_meta_properties


class ClusterMember:
    """The MetadataSource of a broker in a cluster; `opened` closes its connections in the end."""

    def __init__(
        self, given: Sequence[SettingSource], runtime: NodeRuntime, opened: AsyncExitStack
    ) -> None:
        assert runtime.cluster is not None, "a runtime without these ports serves no cluster"
        self._given = given
        self._resolved = BROKER_SETTINGS.resolve(given)
        self._runtime = runtime
        self._opened = opened
        self._client_runtime = ClientRuntime(
            runtime.network_clock, runtime.network_scheduler, runtime.ports.random
        )
        self._channels = runtime.cluster.channels(self._client_runtime)
        client = runtime.cluster.zookeeper(
            self._text("zookeeper.connect"),
            session_timeout_ms=self._session_timeout_ms,
        )
        self._store = ZooKeeperStore(client, runtime.network_clock)
        self._broker: ClusterBroker

    # -- MetadataSource

    async def identify(self) -> NodeIdentity:
        """Begin the session; return the cluster's id, and the id of this broker.

        Raises SettingError if the brokers of the cluster use a protocol that is not supported.
        """
        ensure_protocol(self._given)
        await self._connect()
        ensure_registrations(await self._store.brokers.versions())
        random, facts = self._runtime.ports.random, self._store.facts
        cluster_id = await facts.cluster_id(lambda: format_uuid(make_uuid(random)))
        return NodeIdentity(cluster_id, await self._node_id())

    async def open(self, foundation: NodeFoundation) -> MetadataServices:
        """Load the configurations and the logs, and make the services; no replica has a role."""
        on_event = foundation.resources.manager.options.on_event
        connections = ClusterConnections(
            self._store,
            BrokerSession(self._store, on_event=on_event),
            self._channels,
            self._client_runtime,
        )
        self._broker = ClusterBroker(connections, foundation)
        return await self._broker.open()

    async def join(self, me: BrokerImage) -> None:
        """Register this broker, and take part in the elections of the controller."""
        await self._broker.join(me)

    async def leave(self) -> None:
        """Move the leaderships of this broker to others, and its role as the controller."""
        await self._broker.leave()

    # -- ZooKeeper

    async def _connect(self) -> None:
        hosts = self._text("zookeeper.connect")
        given = self._resolved["zookeeper.connection.timeout.ms"].value
        limit_ms = given if isinstance(given, int) else self._session_timeout_ms

        def timed_out() -> Exception:
            return SettingError(
                f"ZooKeeper at {hosts} has not answered within {limit_ms} ms",
                key="zookeeper.connect",
                remedy="start ZooKeeper, correct zookeeper.connect, or raise "
                "zookeeper.connection.timeout.ms",
            )

        self._opened.push_async_callback(self._store.close)
        await self._client_runtime.run_with_timeout(
            limit_ms, self._store.start(), timeout_error=timed_out
        )

    async def _node_id(self) -> int:
        """Return the given id, that of the log directories, or a new one."""
        setting = self._resolved["node.id"]
        given = setting.value if setting.source != DEFAULT_SOURCE else None
        if isinstance(given, int) and given >= 0:
            return given
        known = self._node_id_of_directories()
        if known is not None:
            return known
        if not self._resolved["broker.id.generation.enable"].value:
            raise SettingError(
                "the broker has no id, and broker.id.generation.enable is false",
                key="node.id",
                remedy="set node.id, with another id for each broker",
            )
        largest = self._integer("reserved.broker.max.id")
        return await self._store.brokers.next_broker_id(largest_reserved=largest)

    def _node_id_of_directories(self) -> int | None:
        files, paths = self._runtime.ports.files, self._resolved["log.dirs"].value
        assert isinstance(paths, tuple), "a list of paths"
        for path in paths:
            try:
                meta = read_meta_properties(files, str(path))
            except (OSError, DamagedFileError):
                continue  # the directory is opened next, which reports it
            if meta is not None and meta.node_id is not None:
                return meta.node_id
        return None

    @property
    def _session_timeout_ms(self) -> int:
        return self._integer("zookeeper.session.timeout.ms")

    def _text(self, name: str) -> str:
        return str(self._resolved[name].value)

    def _integer(self, name: str) -> int:
        value = self._resolved[name].value
        assert isinstance(value, int), f"{name} is a number"
        return value
