"""Tests of writes under the controller epoch."""

import pytest

from cordwood.cluster.zookeeper.client.zookeeper_client import CreateOp, DeleteOp, SetDataOp
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    NodeExistsError,
)
from cordwood.cluster.zookeeper.store.guarded_writes import GuardedWrites
from cordwood.core.errors import StaleControllerEpochError
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld, kind, play


def test_each_write_has_its_own_result() -> None:
    async def scene(world: StoreWorld) -> list[tuple[int | None, str | None]]:
        member = await world.member(1)
        writes = GuardedWrites(member.client, await member.elected())
        results = await writes.apply(
            [
                CreateOp("/a", b"1"),
                CreateOp("/a"),
                SetDataOp("/a", b"2", version=0),
                SetDataOp("/a", b"3", version=0),
                DeleteOp("/no"),
                DeleteOp("/a", version=1),
            ]
        )
        return [(each.version, kind(each.error)) for each in results]

    assert play(scene) == [
        (0, None),
        (None, "NodeExistsError"),
        (1, None),
        (None, "BadVersionError"),
        (None, "NoNodeError"),
        (None, None),
    ]


def test_no_write_of_a_deposed_controller_is_applied() -> None:
    async def scene(world: StoreWorld) -> None:
        old, new = await world.member(1), await world.member(2)
        guard = await old.elected()
        writes = GuardedWrites(old.client, guard)
        await writes.apply([CreateOp("/a", b"1")])
        await old.store.election.resign(guard)
        await new.elected()
        before = world.nodes()

        for write in (
            writes.apply([SetDataOp("/a", b"2"), CreateOp("/b")]),
            writes.apply_together([CreateOp("/b"), CreateOp("/c")]),
            writes.delete_all(["/a", "/no"]),
        ):
            with pytest.raises(StaleControllerEpochError, match="moved to another broker"):
                await write
        assert world.nodes() == before

    play(scene)


def test_writes_together_are_applied_completely_or_not_at_all() -> None:
    async def scene(world: StoreWorld) -> set[str]:
        member = await world.member(1)
        writes = GuardedWrites(member.client, None)
        with pytest.raises(NodeExistsError, match="/config"):
            await writes.apply_together([CreateOp("/a"), CreateOp("/config")])
        await writes.apply_together([CreateOp("/b"), CreateOp("/b/c")])
        return {path for path in world.nodes() if path[1] in "ab" and len(path) < 5}

    assert play(scene) == {"/b", "/b/c"}


@pytest.mark.parametrize("theirs", ((b"theirs",), (b"theirs", b"mine")))
def test_repeated_write_does_not_hide_the_write_of_another_broker(
    theirs: tuple[bytes, ...],
) -> None:
    async def scene(world: StoreWorld) -> tuple[str | None, bytes]:
        member = await world.member(1)
        await member.client.create("/a", b"0")

        def lose_to_others() -> None:
            member.client.break_connection()
            for data in theirs:
                world.server.tree.apply([SetDataOp("/a", data)], session_id=0, now_ms=0)

        def on_send() -> None:
            member.client.on_send = lambda: None
            world.world.after(0, lose_to_others)

        member.client.on_send = on_send
        writes = GuardedWrites(member.client, None)
        (result,) = await writes.apply([SetDataOp("/a", b"mine", version=0)])
        return kind(result.error), world.nodes()["/a"]

    assert play(scene) == ("BadVersionError", theirs[-1])
