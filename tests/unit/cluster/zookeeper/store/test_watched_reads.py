"""Tests of reads with watches."""

from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests
from cordwood.cluster.zookeeper.store.watched_reads import WatchedReads
from tests.unit.cluster.zookeeper.store.store_world import Member, StoreWorld, play


class Watching:
    """Reads of a member, and the numbers of calls and requests."""

    def __init__(self, member: Member) -> None:
        self.calls = self.requests = 0
        self.reads = WatchedReads(RetriedRequests(member.client), self._called)
        member.client.on_send = self._sent

    def _called(self) -> None:
        self.calls += 1

    def _sent(self) -> None:
        self.requests += 1


def test_reading_is_kept_until_its_watch_is_called() -> None:
    async def scene(world: StoreWorld) -> list[tuple[object, int]]:
        member, other = await world.member(1), await world.member(2)
        await other.client.create("/a")
        watching = Watching(member)
        seen = [(await watching.reads.children("/a"), watching.requests) for _ in range(2)]
        await other.client.create("/a/x")
        await world.settle()
        assert watching.calls == 1
        return [*seen, (await watching.reads.children("/a"), watching.requests)]

    assert play(scene) == [(([], True), 1), (([], False), 1), ((["x"], True), 2)]


def test_only_nodes_whose_watch_was_called_are_read_again() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member, other = await world.member(1), await world.member(2)
        paths = ["/a", "/b", "/no"]
        for path in paths[:2]:
            await other.client.create(path)
        watching = Watching(member)
        first = await watching.reads.stats(paths)
        await other.client.set("/b", b"1")
        await member.client.exists("/a")  # the event arrives before this response
        second = await watching.reads.stats(paths)
        return (
            [stat and stat.version for stat in first],
            [stat and stat.version for stat in second],
            watching.calls,
            watching.requests - 1,
        )

    assert play(scene) == ([0, 0, None], [0, 1, None], 1, 4)


def test_watch_that_is_called_before_its_result_is_taken_counts() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member, other = await world.member(1), await world.member(2)
        await other.client.create("/a")
        watching = Watching(member)
        reading = watching.reads.stats(["/a"])
        first = await reading
        await other.client.set("/a", b"1")
        member.client.break_connection()
        (second,) = await watching.reads.stats(["/a"])
        return first[0] and first[0].version, second and second.version, watching.calls

    assert play(scene) == (0, 1, 1)


def test_children_of_a_missing_node_are_read_when_it_is_created() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member, other = await world.member(1), await world.member(2)
        watching = Watching(member)
        first = await watching.reads.children("/a")
        await other.client.create("/a")
        await other.client.create("/a/x")
        await member.client.exists("/a")
        return first, watching.calls, await watching.reads.children("/a")

    assert play(scene) == (([], True), 1, (["x"], True))


def test_forgotten_nodes_are_read_again() -> None:
    async def scene(world: StoreWorld) -> int:
        watching = Watching(await world.member(1))
        await watching.reads.stats(["/a", "/b"])
        watching.reads.forget_others(["/a"])
        await watching.reads.stats(["/a", "/b"])
        return watching.requests

    assert play(scene) == 3
