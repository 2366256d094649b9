"""A broker without logs that is the controller of Kafka's brokers.

It is registered with the listener for brokers alone, so that no client sees it. It answers the
requests of its own controller, and passes those of the other brokers to it.
"""

import asyncio
import struct
from typing import Final

from cordwood.client.network.runtime import system_runtime
from cordwood.client.settings import ClientSettings
from cordwood.cluster.active_controller.active_controller import ActiveController
from cordwood.cluster.active_controller.controller_host import BrokerEvent, ControllerReport
from cordwood.cluster.active_controller.controller_settings import ActiveControllerSettings
from cordwood.cluster.channels.connected_channels import ConnectedChannels
from cordwood.cluster.controller.context.cluster_context import ControllerSettings
from cordwood.cluster.controller.context.live_broker import BrokerEndpoint
from cordwood.cluster.zookeeper.client.kazoo_client import KazooZooKeeperClient
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.cluster.zookeeper.znodes.broker_znode import BrokerRegistration
from cordwood.core.ports import Worker
from cordwood.core.system import SystemClock
from cordwood.protocol.apis import APIS, Api, api_of
from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.header import ResponseHeader, append_response_header, read_request_header
from cordwood.protocol.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from cordwood.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
)
from cordwood.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from cordwood.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from cordwood.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from cordwood.protocol.messages.stop_replica import StopReplicaRequest
from cordwood.protocol.messages.update_metadata import UpdateMetadataRequest
from cordwood.protocol.schema import Request, Response
from tests.interop.kafka_harness.zookeepers import INTERNAL, SESSION_TIMEOUT_MS, RunningZooKeeper
from tests.unit.cluster.controller.broker_model import BrokerModel

CONTROLLER_ID: Final = 100


class OurController:
    """The broker; its host port and its server."""

    def __init__(
        self,
        zookeeper: RunningZooKeeper,
        root: str,
        worker: Worker,
        *,
        broker_id: int = CONTROLLER_ID,
    ) -> None:
        self.broker_id = broker_id
        self.store = ZooKeeperStore(_client(zookeeper, root, worker), SystemClock())
        self.controller = ActiveController(
            self.store,
            ConnectedChannels(ClientSettings(bootstrap_servers=("unused:1",)), system_runtime()),
            _settings(broker_id),
            system_runtime(),
            worker=worker,
            host=self,
        )
        self.reports = list[ControllerReport]()
        self._model = BrokerModel(broker_id, 0)
        #: Requests of Kafka's brokers, with their responses.
        self.served = list[tuple[Request, Response]]()
        self._elected = asyncio.Event()
        self._server: asyncio.Server | None = None

    @property
    def live_brokers(self) -> set[int]:
        """The brokers in the metadata that the controller has sent."""
        return self._model.live_brokers

    async def start(self) -> None:
        """Register, and wait until a broker is the controller."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        await self.store.start()
        self._model.epoch = await self.store.brokers.register(
            BrokerRegistration(
                broker_id=self.broker_id,
                endpoints=(BrokerEndpoint(INTERNAL, "127.0.0.1", port),),
            )
        )
        self.controller.start()
        await self._elected.wait()

    async def close(self) -> None:
        await self.controller.stop()
        await self.store.close()
        if self._server is not None:
            self._server.close()

    # The host port

    def is_unclean_election_enabled(self) -> bool:
        return False

    def on_controller_changed(self, controller_id: int | None) -> None:
        if controller_id is not None:
            self._elected.set()

    def on_event(self, event: BrokerEvent) -> None:
        pass

    def on_report(self, report: ControllerReport) -> None:
        self.reports.append(report)

    # The server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                answer = await self._answer(memoryview(await reader.readexactly(size)))
                writer.write(struct.pack(">i", len(answer)) + answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    async def _answer(self, frame: memoryview) -> bytes:
        header, at = read_request_header(frame)
        api, version = api_of(header.request_api_key), header.request_api_version
        response = await self._response(decode(api.request(), frame[at:], version), version)
        out = bytearray()
        answered = ResponseHeader(correlation_id=header.correlation_id)
        append_response_header(out, answered, api=api, version=version)
        return bytes(out) + joined(encode(response, version))

    async def _response(self, request: Request, version: int) -> Response:
        if isinstance(request, ApiVersionsRequest):
            return ApiVersionsResponse(error_code=0, api_keys=[*map(_range, APIS.values())])
        if isinstance(request, LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest):
            return self._model.answer(request)
        response: Response
        if isinstance(request, AllocateProducerIdsRequest):
            block = await self.controller.allocate_producer_ids(
                request.broker_id, broker_epoch=request.broker_epoch
            )
            response = AllocateProducerIdsResponse(
                error_code=0, producer_id_start=block.start, producer_id_len=len(block)
            )
        elif isinstance(request, AlterPartitionRequest):
            response = await self.controller.submit(
                request, AlterPartitionResponse, version=version
            )
        else:
            assert isinstance(request, ControlledShutdownRequest), f"not served: {request}"
            response = await self.controller.submit(
                request, ControlledShutdownResponse, version=version
            )
        self.served.append((request, response))
        return response


def _client(zookeeper: RunningZooKeeper, root: str, worker: Worker) -> KazooZooKeeperClient:
    return KazooZooKeeperClient(
        f"{zookeeper.address}{root}",
        session_timeout_ms=SESSION_TIMEOUT_MS,
        loop=asyncio.get_running_loop(),
        worker=worker,
    )


def _settings(broker_id: int) -> ActiveControllerSettings:
    return ActiveControllerSettings(
        decisions=ControllerSettings(controller_id=broker_id, inter_broker_listener=INTERNAL)
    )


def _range(api: Api) -> ApiVersion:
    return ApiVersion(api_key=api.key, min_version=api.first, max_version=api.last)
