"""Tests of request dispatch."""

import asyncio
import sys
from collections.abc import Mapping
from types import ModuleType

import pytest

from cordwood.broker import dispatch as broker_dispatch
from cordwood.broker.dispatch import ROUTES, Dispatch, HandlerRoute, load_handlers
from cordwood.broker.network.pending_response import PendingResponse, chunks_of
from cordwood.broker.network.request_context import ConnectionInfo, RequestContext
from cordwood.core.binary import Buffer
from cordwood.core.errors import (
    BytesError,
    InvalidRequestError,
    KafkaError,
    UnsupportedVersionError,
)
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import API_VERSIONS, api_of
from cordwood.protocol.codec import decode, encode, joined, reader, writer
from cordwood.protocol.codegen_source import GeneratedSource
from cordwood.protocol.header import RequestHeader, append_request_header
from cordwood.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from cordwood.protocol.primitives import Chunk
from cordwood.protocol.schema import Message, Request, default_struct
from cordwood.storage.log_config import LogConfig
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.broker.server_samples import Run, serving, turn
from tests.unit.storage.log_samples import batch
from tests.unit.storage.manager_samples import HeldWorker

CONNECTION = ConnectionInfo(id=1, host="::1", port=1, listener="PLAINTEXT", is_secure=False)
KEY = API_VERSIONS.key


def dispatch(
    routes: Mapping[int, HandlerRoute] = ROUTES, *, metrics: Metrics | None = None
) -> Dispatch:
    return Dispatch(BrokerHarness().broker, metrics or Metrics(), routes=routes)


def ask(asked: Dispatch, version: int, body: bytes = b"", *, key: int = KEY) -> list[Chunk] | None:
    context = RequestContext(key, version, 7, None, CONNECTION)

    async def scene() -> list[Chunk] | None:
        return await chunks_of(await asked.handle(context, memoryview(body)))

    return asyncio.run(scene())


@pytest.fixture
def handlers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return an empty handler module."""
    module = ModuleType("cordwood.broker.handlers.sample")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


SAMPLE = {KEY: HandlerRoute("sample", "answer")}


def test_request_is_answered_by_its_handler() -> None:
    answer = ask(dispatch(), 0)

    assert answer is not None
    assert isinstance(answer[0], Buffer)
    assert len(decode(ApiVersionsResponse, answer[0], 0).api_keys) == len(ROUTES)


def test_loaded_handlers_are_not_imported_by_the_first_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    imported: list[str] = []
    monkeypatch.setattr(broker_dispatch, "import_module", imported.append)

    load_handlers()

    assert imported == [f"cordwood.broker.handlers.{each.module}" for each in ROUTES.values()]


def test_loaded_codecs_are_not_compiled_by_the_first_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled: list[str] = []
    load_handlers()
    monkeypatch.setattr(GeneratedSource, "compiled", lambda *names: compiled.append(names[-1]))

    for key in ROUTES:
        request, response = api_of(key).request(), api_of(key).response()
        for version in versions_of(request):
            reader(request, version)
        for version in versions_of(response):
            writer(response, version)
        made = default_struct(response)
        type(made)(**{each.name: getattr(made, each.name) for each in response.__schema__.fields})

    assert compiled == []


def versions_of(kind: type[Message]) -> range:
    first, last = kind.__schema__.versions
    return range(first, last + 1)


def test_handler_may_return_no_response(handlers: ModuleType) -> None:
    async def answer(*_: object) -> None:
        return None

    handlers.answer = answer  # type: ignore[attr-defined]  # a module made for this test

    assert ask(dispatch(SAMPLE), 0) is None


def test_pending_response_is_encoded_and_counted_once_it_is_known(handlers: ModuleType) -> None:
    metrics = Metrics()
    later = ApiVersionsResponse(error_code=35, api_keys=[])

    async def answer(*_: object) -> PendingResponse:
        future = asyncio.get_running_loop().create_future()
        future.set_result(later)
        return PendingResponse(future, lambda _: later)

    handlers.answer = answer  # type: ignore[attr-defined]  # a module made for this test

    chunks = ask(dispatch(SAMPLE, metrics=metrics), 0)

    assert chunks == encode(later, 0)
    assert metrics.counter("cordwood_requests_total", "ApiVersions", "0").value == 1


def test_pending_response_is_known_with_its_future(handlers: ModuleType) -> None:
    later = ApiVersionsResponse(error_code=35, api_keys=[])
    context = RequestContext(KEY, 0, 7, None, CONNECTION)

    async def scene() -> tuple[list[Chunk] | None, list[Chunk] | None]:
        future = asyncio.get_running_loop().create_future()

        async def answer(*_: object) -> PendingResponse:
            return PendingResponse(future, lambda _: later)

        handlers.answer = answer  # type: ignore[attr-defined]  # a module made for this test
        handled = await dispatch(SAMPLE).handle(context, memoryview(b""))
        assert handled is not None
        assert not isinstance(handled, list)
        before = handled.known()
        future.set_result(later)
        return before, handled.known()

    assert asyncio.run(scene()) == (None, encode(later, 0))


def test_unknown_api_is_rejected() -> None:
    with pytest.raises(UnsupportedVersionError, match="API key 3 is not served"):
        ask(dispatch({}), 0, key=3)


def test_unsupported_version_is_rejected(handlers: ModuleType) -> None:
    handlers.answer = None  # type: ignore[attr-defined]  # a module made for this test

    with pytest.raises(UnsupportedVersionError, match="ApiVersions is served from 0 to 4"):
        ask(dispatch(SAMPLE), 5)


def test_newer_version_of_api_versions_is_answered_as_version_0() -> None:
    answer = ask(dispatch(), 5, b"whatever it says")

    assert answer == [b"\0\x23\0\0\0\x01\0\x12\0\0\0\x04"]


def test_invalid_body_is_rejected() -> None:
    with pytest.raises(BytesError):
        ask(dispatch(), 3, b"\xff\xff\xff")


def test_error_of_a_handler_becomes_the_error_response_of_its_module(handlers: ModuleType) -> None:
    async def answer(*_: object) -> None:
        raise InvalidRequestError

    def error_response(
        _: ApiVersionsRequest, error: KafkaError, *, version: int
    ) -> ApiVersionsResponse:
        return ApiVersionsResponse(error_code=error.code + version, api_keys=[])

    handlers.answer = answer  # type: ignore[attr-defined]  # a module made for this test
    handlers.error_response = error_response  # type: ignore[attr-defined]  # as above

    assert ask(dispatch(SAMPLE), 0) == [b"\0\x2a\0\0\0\0"]


def test_error_of_a_handler_escapes_when_its_module_has_no_answer(handlers: ModuleType) -> None:
    async def answer(*_: object) -> None:
        raise InvalidRequestError

    handlers.answer = answer  # type: ignore[attr-defined]  # a module made for this test

    with pytest.raises(InvalidRequestError):
        ask(dispatch(SAMPLE), 0)


def test_rejected_request_is_counted_by_its_error(handlers: ModuleType) -> None:
    async def answer(*_: object) -> None:
        raise InvalidRequestError

    handlers.answer = answer  # type: ignore[attr-defined]  # a module made for this test
    metrics = Metrics()

    with pytest.raises(InvalidRequestError):
        ask(dispatch(SAMPLE, metrics=metrics), 0)

    labels = ("ApiVersions", "InvalidRequestError")
    assert metrics.counter("cordwood_requests_refused_total", *labels).value == 1


def test_answers_are_counted_by_api_and_version() -> None:
    metrics = Metrics()

    for version in (0, 3, 3):
        ask(dispatch(metrics=metrics), version, b"\x02a\x02b\0" if version else b"")

    counts = [metrics.counter("cordwood_requests_total", "ApiVersions", each) for each in "03"]
    assert [counter.value for counter in counts] == [1, 2]
    assert sum(metrics.histogram("cordwood_request_seconds", "ApiVersions").counts) == 3


def test_quirk_20_telemetry_is_not_served_so_no_client_pushes_it() -> None:
    assert not {71, 72} & ROUTES.keys()


@pytest.mark.parametrize("key", sorted(ROUTES))
def test_quirk_26_responses_have_no_throttle_time(key: int) -> None:
    fields = {each.name: each for each in api_of(key).response().__schema__.fields}

    assert "throttle_time_ms" not in fields or fields["throttle_time_ms"].default == 0


@pytest.mark.parametrize("key", sorted(ROUTES))
def test_route_leads_to_a_handler(key: int) -> None:
    with pytest.raises((BytesError, UnsupportedVersionError)):
        ask(dispatch(), api_of(key).last, b"", key=key)


def frame(asked: Request, version: int, *, correlation_id: int) -> bytes:
    """Return the frame of a request."""
    key = type(asked).__schema__.api_key
    assert key is not None
    out = bytearray()
    header = RequestHeader(
        request_api_key=key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=None,
    )
    append_request_header(out, header)
    body = bytes(out) + joined(encode(asked, version))
    return len(body).to_bytes(4) + body


def test_quirk_16_answers_keep_the_order_of_requests_though_the_first_has_to_wait(
    run: Run,
) -> None:
    worker = HeldWorker()
    harness = BrokerHarness(LogConfig(flush_messages=1), worker=worker)
    harness.host()
    data = [PartitionProduceData(index=0, records=bytes(batch()))]
    topics = [TopicProduceData(name="orders", partitions=data)]
    produce = ProduceRequest(acks=-1, timeout_ms=1000, topics=topics)
    versions = ApiVersionsRequest(client_software_name="", client_software_version="")

    async def scene() -> list[int]:
        async with serving(Dispatch(harness.broker, Metrics()).handle) as server:
            peer = await server.connect()
            peer.send(frame(produce, 9, correlation_id=1), frame(versions, 0, correlation_id=2))
            while not worker.held:
                await turn()
            worker.go_on()
            return [(await peer.answer())[0] for _ in range(2)]

    assert run(scene()) == [1, 2]
