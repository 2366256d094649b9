"""Tests of requests that are repeated."""

from collections.abc import Iterator
from functools import partial

import pytest

from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    NoNodeError,
    SessionExpiredError,
)
from cordwood.cluster.zookeeper.store.retried_requests import (
    TURN,
    RetriedRequests,
    pipelined,
    repeated,
    turns,
)
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld, kind, play


def test_outcomes_have_the_order_of_the_requests() -> None:
    async def scene(world: StoreWorld) -> list[tuple[bool, str | None, bool]]:
        client = (await world.member(1)).client
        outcomes = await pipelined([partial(client.create, each) for each in ("/a", "/a", "/b/c")])
        return [(each.result is not None, kind(each.error), each.is_repeated) for each in outcomes]

    assert play(scene) == [
        (True, None, False),
        (False, "NodeExistsError", False),
        (False, "NoNodeError", False),
    ]


def test_more_requests_than_one_turn_sends_have_a_result_each() -> None:
    async def scene(world: StoreWorld) -> list[bytes | None]:
        requests = RetriedRequests((await world.member(1)).client)
        await requests.create("/a", b"1")
        nodes = await requests.get_all(["/a", "/no"] * 600)
        return [None if node is None else node.data for node in nodes]

    assert play(scene) == [b"1", None] * 600


def test_items_are_taken_a_turn_at_a_time() -> None:
    taken = list[int]()

    def items() -> Iterator[int]:
        for number in range(2 * TURN + 1):
            taken.append(number)
            yield number

    sizes = [(len(turn), len(taken)) for turn in turns(items())]

    assert sizes == [(TURN, TURN), (TURN, 2 * TURN), (1, 2 * TURN + 1)]


def test_children_of_many_nodes_are_read_in_one_pipeline() -> None:
    async def scene(world: StoreWorld) -> list[list[str]]:
        requests = RetriedRequests((await world.member(1)).client)
        await requests.create_missing(["/a", "/a/x", "/a/y"])
        return await requests.all_children(["/a", "/no", "/a/x"])

    assert play(scene) == [["x", "y"], [], []]


def test_lost_request_is_repeated_and_marked() -> None:
    async def scene(world: StoreWorld) -> tuple[str | None, bool]:
        member = await world.member(1)
        world.world.after(0, lambda: member.client.break_connection(arriving=1))
        (outcome,) = await pipelined([lambda: member.client.create("/a")])
        return kind(outcome.error), outcome.is_repeated

    assert play(scene) == ("NodeExistsError", True)


def test_end_of_the_session_ends_the_repetition() -> None:
    async def scene(world: StoreWorld) -> None:
        member = await world.member(1)
        world.server.expire(member.client.session_id)
        with pytest.raises(SessionExpiredError):
            await repeated(lambda: member.client.create("/a"))
        with pytest.raises(SessionExpiredError):
            await pipelined([lambda: member.client.create("/a")])

    play(scene)


def test_missing_node_is_none_or_empty() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        requests = RetriedRequests((await world.member(1)).client)
        await requests.delete_all(["/no"])
        return (await requests.get("/no"), await requests.children("/no"))

    assert play(scene) == (None, [])


def test_data_are_stored_whether_the_node_exists_or_not() -> None:
    async def scene(world: StoreWorld) -> bytes:
        requests = RetriedRequests((await world.member(1)).client)
        await requests.set_or_create("/a", b"1")
        await requests.set_or_create("/a", b"2")
        return world.nodes()["/a"]

    assert play(scene) == b"2"


def test_parents_are_created_before_their_children() -> None:
    async def scene(world: StoreWorld) -> set[str]:
        requests = RetriedRequests((await world.member(1)).client)
        await requests.create_missing(["/a", "/a/b"])
        await requests.create_missing(["/a", "/a/b", "/a/b/c"])
        with pytest.raises(NoNodeError):
            await requests.create_missing(["/x/y"])
        return {*world.nodes("/a")}

    assert play(scene) == {"/a/b", "/a/b/c"}


def test_appended_nodes_are_numbered() -> None:
    async def scene(world: StoreWorld) -> list[str]:
        requests = RetriedRequests((await world.member(1)).client)
        await requests.create_missing(["/a"])
        await requests.append("/a/n_", b"1")
        await requests.append("/a/n_", b"2")
        return await requests.children("/a")

    assert play(scene) == ["n_0000000000", "n_0000000001"]
