"""Request dispatch: decode the body, call the handler, encode the response (Kafka: `KafkaApis`).

`ROUTES` is the table of served APIs; a broker of a cluster has `CLUSTER_ROUTES`. A message and its
handler are imported at the first request, or by `load_handlers` on a worker: the imports take up to
20 ms each, too long for an event loop. Likewise its codecs are compiled, in about 1 ms each.

A request or a response with many elements is decoded or encoded on the worker. Objects take far
more memory than their bytes, so a request has MOST_ELEMENTS at most, and the objects of all such
requests together are bounded (`large_messages`). Kafka has no such limits.

A request for an unknown API or version closes the connection, as in Kafka. The exception is a
handler module with `unsupported_version_response` (see `broker.handlers`).
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Final, NamedTuple, Protocol, TypeAlias, cast

from cordwood.broker.large_messages import LargeMessages, decode_small, encode_small
from cordwood.broker.network.pending_response import Handled, PendingResponse
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.core.errors import KafkaError, UnsupportedVersionError, error_for_code
from cordwood.observability.metrics import Counter, Histogram, Metrics
from cordwood.protocol.apis import Api, api_of
from cordwood.protocol.codec import compile_readers, compile_writers, encode
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Request, Response

HandlerResult: TypeAlias = Response | PendingResponse | list[Chunk] | None
"""A response, one that is pending, an encoded response, or None if no response is sent."""

Handler: TypeAlias = Callable[[BrokerServices, RequestContext, Request], Awaitable[HandlerResult]]
UnsupportedVersionResponse: TypeAlias = Callable[[], Response]


class ErrorResponseFactory(Protocol):
    """The function `error_response` of a handler module (Kafka: `getErrorResponse`)."""

    def __call__(self, request: Request, error: KafkaError, /, *, version: int) -> Response:
        """Return a response with the error in the fields that the version has for it."""


class HandlerRoute(NamedTuple):
    """The handler function of an API, in a module of `broker.handlers`."""

    module: str
    function: str


ROUTES: Final[Mapping[int, HandlerRoute]] = MappingProxyType(
    {
        0: HandlerRoute("produce", "begin_produce"),
        1: HandlerRoute("fetch", "fetch"),
        2: HandlerRoute("offsets", "list_offsets"),
        3: HandlerRoute("metadata", "metadata"),
        8: HandlerRoute("group_offsets", "offset_commit"),
        9: HandlerRoute("group_offsets", "offset_fetch"),
        10: HandlerRoute("coordinators", "find_coordinator"),
        11: HandlerRoute("groups", "join_group"),
        12: HandlerRoute("groups", "heartbeat"),
        13: HandlerRoute("groups", "leave_group"),
        14: HandlerRoute("groups", "sync_group"),
        15: HandlerRoute("groups", "describe_groups"),
        16: HandlerRoute("groups", "list_groups"),
        18: HandlerRoute("api_versions", "api_versions"),
        19: HandlerRoute("topics", "create_topics"),
        20: HandlerRoute("topics", "delete_topics"),
        21: HandlerRoute("offsets", "delete_records"),
        22: HandlerRoute("producers", "init_producer_id"),
        23: HandlerRoute("offsets", "offset_for_leader_epoch"),
        24: HandlerRoute("transactions", "add_partitions_to_txn"),
        25: HandlerRoute("transactions", "add_offsets_to_txn"),
        26: HandlerRoute("transactions", "end_txn"),
        27: HandlerRoute("transaction_admin", "write_txn_markers"),
        28: HandlerRoute("group_offsets", "txn_offset_commit"),
        32: HandlerRoute("configs", "describe_configs"),
        33: HandlerRoute("configs", "alter_configs"),
        34: HandlerRoute("log_dirs", "alter_replica_log_dirs"),
        35: HandlerRoute("log_dirs", "describe_log_dirs"),
        37: HandlerRoute("topics", "create_partitions"),
        42: HandlerRoute("groups", "delete_groups"),
        43: HandlerRoute("controller", "elect_leaders"),
        44: HandlerRoute("configs", "incremental_alter_configs"),
        45: HandlerRoute("controller", "alter_partition_reassignments"),
        46: HandlerRoute("controller", "list_partition_reassignments"),
        47: HandlerRoute("group_offsets", "offset_delete"),
        60: HandlerRoute("cluster", "describe_cluster"),
        61: HandlerRoute("producers", "describe_producers"),
        65: HandlerRoute("transaction_admin", "describe_transactions"),
        66: HandlerRoute("transaction_admin", "list_transactions"),
        68: HandlerRoute("consumer_groups", "consumer_group_heartbeat"),
        69: HandlerRoute("consumer_groups", "consumer_group_describe"),
        74: HandlerRoute("configs", "list_config_resources"),
        75: HandlerRoute("cluster", "describe_topic_partitions"),
    }
)

#: The APIs between brokers, which an embedded broker does not have.
_BETWEEN_BROKERS: Final = {
    4: HandlerRoute("replicas", "leader_and_isr"),
    5: HandlerRoute("replicas", "stop_replica"),
    6: HandlerRoute("replicas", "update_metadata"),
    7: HandlerRoute("controller", "controlled_shutdown"),
    56: HandlerRoute("controller", "alter_partition"),
    67: HandlerRoute("controller", "allocate_producer_ids"),
}
CLUSTER_ROUTES: Final[Mapping[int, HandlerRoute]] = MappingProxyType({**ROUTES, **_BETWEEN_BROKERS})


def routes_of(broker: BrokerServices) -> Mapping[int, HandlerRoute]:
    """Return the APIs that a broker serves."""
    return ROUTES if broker.controller is None else CLUSTER_ROUTES


class ServedApi(NamedTuple):
    """An API with its imported request class and handler functions."""

    api: Api
    request: type[Request]
    handler: Handler
    error_response: ErrorResponseFactory | None
    unsupported_version_response: UnsupportedVersionResponse | None
    seconds: Histogram
    #: The requests by version, from the first request of a version on.
    requests: dict[int, Counter]


def load_handlers(routes: Mapping[int, HandlerRoute] = ROUTES) -> None:
    """Import messages and handlers, and compile the codecs of all versions; thread-safe."""
    for api_key, route in routes.items():
        _handlers(route)
        api = api_of(api_key)
        compile_readers(api.request())
        compile_writers(api.response())


def _handlers(route: HandlerRoute) -> ModuleType:
    return import_module(f"cordwood.broker.handlers.{route.module}")


class Dispatch:
    """Dispatches the requests of one broker; a socket server calls `handle`."""

    def __init__(
        self,
        broker: BrokerServices,
        metrics: Metrics,
        *,
        routes: Mapping[int, HandlerRoute] | None = None,
    ) -> None:
        self._broker = broker
        self._metrics = metrics
        self._routes = routes_of(broker) if routes is None else routes
        self._served: dict[int, ServedApi] = {}
        manager = broker.logs
        self._large = LargeMessages(manager.ports.worker, manager.options.call_soon)

    async def handle(self, context: RequestContext, body: memoryview) -> Handled:
        """Return the body of the response, which may be pending; None if no response is sent.

        Raises UnsupportedVersionError for an API or version that is not served, BytesError for an
        invalid body, and the error of a handler whose module has no `error_response`.
        """
        served = self._find(context.api_key)
        version = context.api_version
        first, last = served.request.__schema__.versions
        if not first <= version <= last:
            if served.unsupported_version_response is None:
                raise UnsupportedVersionError(f"{served.api.name} is served from {first} to {last}")
            # The client does not understand our versions yet, so the response has version 0.
            return encode(served.unsupported_version_response(), 0)
        began_ms = self._broker.clock.monotonic_ms()
        request = decode_small(served.request, body, version)
        if request is None:
            chunks = await self._handle_large(served, context, body)
        else:
            try:
                result = await served.handler(self._broker, context, request)
            except KafkaError as error:
                result = self._rejection(served, context, error)(request, error)
            if isinstance(result, PendingResponse):
                return _EncodedLater(self, served, result, began_ms=began_ms, version=version)
            chunks = await self.encode(result, version)
        self.count(served, version, began_ms=began_ms)
        return chunks

    def count(self, served: ServedApi, version: int, *, began_ms: float) -> None:
        """Count a request that has its response."""
        took_ms = self._broker.clock.monotonic_ms() - began_ms
        served.seconds.observe(took_ms / 1000)
        (served.requests.get(version) or self._counter_of(served, version)).add()

    def _counter_of(self, served: ServedApi, version: int) -> Counter:
        counter = self._metrics.counter("cordwood_requests_total", served.api.name, str(version))
        served.requests[version] = counter
        return counter

    async def _handle_large(
        self, served: ServedApi, context: RequestContext, body: memoryview
    ) -> list[Chunk] | None:
        """Decode, handle and answer a request with many elements."""
        large, version = self._large, context.api_version
        async with large.request(served.request, body, version) as request:
            try:
                result = await served.handler(self._broker, context, request)
            except KafkaError as error:
                reject = self._rejection(served, context, error)
                result = await large.run(partial(reject, request, error))
            del request  # before the next full collection, which would visit its objects
            if isinstance(result, PendingResponse):
                result = await result.response()
            return await self.encode(result, version)

    def _rejection(
        self, served: ServedApi, context: RequestContext, error: KafkaError
    ) -> Callable[[Request, KafkaError], Response]:
        """Count a rejected request, and return the function of its response; raise without one."""
        name = error_for_code(error.code).__name__
        self._metrics.counter("cordwood_requests_refused_total", served.api.name, name).add()
        if served.error_response is None:
            raise error
        return partial(served.error_response, version=context.api_version)

    async def encode(
        self, result: Response | list[Chunk] | None, version: int
    ) -> list[Chunk] | None:
        """Return a response as chunks; an encoded one, or none, is returned unchanged."""
        if not isinstance(result, Response):
            return result
        chunks = encode_small(result, version)
        return await self._large.encode(result, version) if chunks is None else chunks

    def _find(self, api_key: int) -> ServedApi:
        served = self._served.get(api_key)
        if served is None:
            route = self._routes.get(api_key)
            if route is None:
                raise UnsupportedVersionError(f"API key {api_key} is not served")
            served = self._served[api_key] = self._import(api_of(api_key), route)
        return served

    def _import(self, api: Api, route: HandlerRoute) -> ServedApi:
        handlers = _handlers(route)
        return ServedApi(
            api=api,
            request=api.request(),
            handler=cast("Handler", getattr(handlers, route.function)),
            error_response=cast(
                "ErrorResponseFactory | None", getattr(handlers, "error_response", None)
            ),
            unsupported_version_response=cast(
                "UnsupportedVersionResponse | None",
                getattr(handlers, "unsupported_version_response", None),
            ),
            seconds=self._metrics.histogram("cordwood_request_seconds", api.name),
            requests={},
        )


class _EncodedLater:
    """The pending response of a request of one version that began at a time."""

    __slots__ = ("_began_ms", "_dispatch", "_pending", "_served", "_version")

    def __init__(
        self,
        dispatch: Dispatch,
        served: ServedApi,
        pending: PendingResponse,
        *,
        version: int,
        began_ms: float,
    ) -> None:
        self._dispatch = dispatch
        self._served = served
        self._pending = pending
        self._version = version
        self._began_ms = began_ms

    def done(self) -> bool:
        return self._pending.done()

    def add_done_callback(self, call: Callable[[], object]) -> None:
        self._pending.add_done_callback(call)

    def known(self) -> list[Chunk] | None:
        if not self._pending.done():
            return None
        chunks = encode_small(self._pending.result(), self._version)
        if chunks is not None:
            self._dispatch.count(self._served, self._version, began_ms=self._began_ms)
        return chunks

    async def chunks(self) -> list[Chunk] | None:
        response = await self._pending.response()
        chunks = await self._dispatch.encode(response, self._version)
        self._dispatch.count(self._served, self._version, began_ms=self._began_ms)
        return chunks

    def abandon(self) -> None:
        self._pending.abandon()
