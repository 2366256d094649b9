"""Tests of the client over kazoo without a server; its scenes are in `tests/interop`."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator

import pytest
from kazoo import exceptions as kazoo_errors
from kazoo.handlers.utils import AsyncResult

from cordwood.cluster.zookeeper.client import kazoo_client
from cordwood.cluster.zookeeper.client.kazoo_client import KazooZooKeeperClient
from cordwood.cluster.zookeeper.client.zookeeper_client import (
    NO_SESSION,
    CheckOp,
    CreateOp,
    SessionState,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    BadVersionError,
    ConnectionLossError,
    SessionExpiredError,
)
from cordwood.core.system import ThreadWorker

Play = Callable[[Callable[[KazooZooKeeperClient], Coroutine[object, object, None]]], None]


@pytest.fixture
def play() -> Iterator[Play]:
    """Run a scene with a client of a server that accepts connections and never responds."""
    worker = ThreadWorker()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]

        def run(scene: Callable[[KazooZooKeeperClient], Coroutine[object, object, None]]) -> None:
            async def with_client() -> None:
                loop = asyncio.get_running_loop()
                await scene(
                    KazooZooKeeperClient(
                        f"127.0.0.1:{port}", session_timeout_ms=400, loop=loop, worker=worker
                    )
                )

            asyncio.run(with_client())

        yield run
    worker.close()


def test_requests_wait_for_the_first_connection_until_the_close(play: Play) -> None:
    async def scene(client: KazooZooKeeperClient) -> None:
        client.start()
        waiting = client.create("/a")
        await asyncio.to_thread(lambda: None)

        assert client.state is SessionState.SUSPENDED
        assert client.session_id == NO_SESSION
        assert not waiting.done()
        await client.close()
        with pytest.raises(SessionExpiredError, match="/a"):
            await waiting

    play(scene)


def test_close_ends_the_threads_of_kazoo(play: Play) -> None:
    before = threading.active_count()

    async def scene(client: KazooZooKeeperClient) -> None:
        client.start()
        assert threading.active_count() > before
        await client.close()
        assert client.state is SessionState.CLOSED

    play(scene)
    worker_threads = [each for each in threading.enumerate() if "background" in each.name]
    assert threading.active_count() - len(worker_threads) <= before


def test_requests_before_the_start_fail(play: Play) -> None:
    async def scene(client: KazooZooKeeperClient) -> None:
        with pytest.raises(SessionExpiredError):
            await client.exists("/a")

    play(scene)


def test_kazoo_gets_a_limited_number_of_requests_at_once(play: Play) -> None:
    async def scene(client: KazooZooKeeperClient) -> None:
        client.start()
        client._change_state(client._kazoo, SessionState.CONNECTED, 7)  # noqa: SLF001  no server
        requests = [client.exists("/a") for _ in range(350)]

        assert len(client._sent) == 100  # noqa: SLF001  not visible from outside
        await client.close()
        outcomes = await asyncio.gather(*requests, return_exceptions=True)
        kinds = [type(each) for each in outcomes]
        assert kinds == [ConnectionLossError] * 100 + [SessionExpiredError] * 250

    play(scene)


def test_handler_refuses_connections_after_the_end_of_the_session() -> None:
    handler = kazoo_client._SessionHandler()  # noqa: SLF001  kazoo calls it
    handler.is_over = True

    with pytest.raises(OSError, match="the session is over"):
        handler.create_connection(address=("127.0.0.1", 1))


def _result(value: object) -> AsyncResult:
    result = kazoo_client._SessionHandler().async_result()  # noqa: SLF001  as above
    result.set(value)
    return result


def test_multi_reports_the_operation_that_is_impossible() -> None:
    failed = [
        kazoo_errors.RolledBackError(),
        kazoo_errors.BadVersionError(),
        kazoo_errors.RuntimeInconsistency(),
    ]

    with pytest.raises(BadVersionError, match="/b") as raised:
        kazoo_client._multi_results(  # noqa: SLF001  the conversion of results
            _result(failed), [CreateOp("/a"), CheckOp("/b", 1), CreateOp("/c")]
        )

    assert raised.value.operation == 1


def test_unexpected_error_of_kazoo_is_named() -> None:
    error = kazoo_client._translated(kazoo_errors.NoAuthError(), "/a")  # noqa: SLF001  as above

    assert str(error) == "/a: the request failed with NoAuthError"
