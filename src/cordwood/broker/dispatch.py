"""From a request's header and body to the chunks of its answer: decode, call the handler, encode.

The table says which APIs are served, and by whom. Messages and handlers are imported when their API
is first asked for. What is not served is refused, and whoever asked loses the connection, as Kafka
has it; the exception is a module's `unsupported` (see `broker.handlers`).
"""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias, cast

from cordwood.broker.broker import Broker
from cordwood.broker.request import RequestContext
from cordwood.core.errors import KafkaError, UnsupportedVersionError, error_for_code
from cordwood.observability.metrics import Histogram, Metrics
from cordwood.protocol.apis import Api, api_of
from cordwood.protocol.codec import decode, encode
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Request, Response

Answer: TypeAlias = Response | list[Chunk] | None
"""What a handler gives: a response, or one that it keeps encoded; None where none is sent."""

Handler: TypeAlias = Callable[[Broker, RequestContext, Request], Awaitable[Answer]]
Unsupported: TypeAlias = Callable[[], Response]


class Refused(Protocol):
    """What a module of handlers may have: an answer to a request that was refused."""

    def __call__(self, request: Request, error: KafkaError, /, *, version: int) -> Response:
        """Return the answer, which has the error wherever that version wants it."""


class Route(NamedTuple):
    """The function that serves an API, in a module of `broker.handlers`."""

    module: str
    function: str


ROUTES: Final[Mapping[int, Route]] = MappingProxyType(
    {
        0: Route("produce", "produce"),
        1: Route("fetch", "fetch"),
        2: Route("offsets", "list_offsets"),
        3: Route("metadata", "metadata"),
        10: Route("coordinators", "find_coordinator"),
        18: Route("api_versions", "api_versions"),
        19: Route("topics", "create_topics"),
        20: Route("topics", "delete_topics"),
        21: Route("offsets", "delete_records"),
        22: Route("producers", "init_producer_id"),
        23: Route("offsets", "offset_for_leader_epoch"),
        32: Route("configs", "describe_configs"),
        33: Route("configs", "alter_configs"),
        35: Route("log_dirs", "describe_log_dirs"),
        37: Route("topics", "create_partitions"),
        44: Route("configs", "incremental_alter_configs"),
        60: Route("cluster", "describe_cluster"),
        61: Route("producers", "describe_producers"),
        74: Route("configs", "list_config_resources"),
        75: Route("cluster", "describe_topic_partitions"),
    }
)


class Served(NamedTuple):
    """An API with what was imported for it."""

    api: Api
    request: type[Request]
    handler: Handler
    refused: Refused | None
    unsupported: Unsupported | None
    seconds: Histogram


class Dispatch:
    """Answers requests on behalf of a broker; `handle` is what a server asks for."""

    def __init__(
        self, broker: Broker, metrics: Metrics, *, routes: Mapping[int, Route] = ROUTES
    ) -> None:
        self._broker = broker
        self._metrics = metrics
        self._routes = routes
        self._served: dict[int, Served] = {}

    async def handle(self, context: RequestContext, body: memoryview) -> list[Chunk] | None:
        """Return the answer's body; None where none is sent.

        Raises UnsupportedVersionError for what is not served, BytesError for a body that is none,
        and what escapes a handler whose module has no answer to it.
        """
        served = self._find(context.api_key)
        version = context.api_version
        first, last = served.request.__schema__.versions
        if not first <= version <= last:
            if served.unsupported is None:
                raise UnsupportedVersionError(f"{served.api.name} is served from {first} to {last}")
            return encode(served.unsupported(), 0)
        began_ms = self._broker.network.clock.monotonic_ms()
        request = decode(served.request, body, version)
        try:
            given = await served.handler(self._broker, context, request)
        except KafkaError as error:
            name = error_for_code(error.code).__name__
            self._metrics.counter("cordwood_requests_refused_total", served.api.name, name).add()
            if served.refused is None:
                raise
            given = served.refused(request, error, version=version)
        answer = encode(given, version) if isinstance(given, Response) else given
        took_ms = self._broker.network.clock.monotonic_ms() - began_ms
        served.seconds.observe(took_ms / 1000)
        self._metrics.counter("cordwood_requests_total", served.api.name, str(version)).add()
        return answer

    def _find(self, api_key: int) -> Served:
        served = self._served.get(api_key)
        if served is None:
            route = self._routes.get(api_key)
            if route is None:
                raise UnsupportedVersionError(f"API key {api_key} is not served")
            served = self._served[api_key] = self._import(api_of(api_key), route)
        return served

    def _import(self, api: Api, route: Route) -> Served:
        handlers = import_module(f"cordwood.broker.handlers.{route.module}")
        return Served(
            api=api,
            request=api.request(),
            handler=cast("Handler", getattr(handlers, route.function)),
            refused=cast("Refused | None", getattr(handlers, "refused", None)),
            seconds=self._metrics.histogram("cordwood_request_seconds", api.name),
            unsupported=cast("Unsupported | None", getattr(handlers, "unsupported", None)),
        )
