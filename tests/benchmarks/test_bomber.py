"""The bomber: its verdict on the broker, and on brokers with planted mistakes.

The verdict is that of small bombs, in `make soak` that of the largest. The delay of a ping is not
in it, since other work of the machine delays pings as well.

The requests of every API leave their turns.

A clock of which each reading takes a tenth of a turn decides whether a request leaves the loop, so
the result is the same on every machine.
"""

import asyncio
import gc
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from benchmarks.bombs.requests import TOPIC, Bomb, bombs
from benchmarks.macro.bomber import FULL, PARTS, SMALL, Options, measure
from cordwood.broker.dispatch import ROUTES, Dispatch
from cordwood.broker.handlers.topic_pieces import MOST_PARTITIONS
from cordwood.broker.loop_turns import TURN_MS, TurnQueue
from cordwood.broker.network.pending_response import chunks_of
from cordwood.broker.network.request_context import RequestContext
from cordwood.core.binary import Buffer
from cordwood.observability.metrics import Metrics
from cordwood.protocol.apis import api_of
from cordwood.protocol.codec import decode, joined
from cordwood.protocol.header import read_request_header
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.test_loop_turns import SteppingClock, turns_of

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
SIZE: Final = replace(FULL, is_alone=True) if SOAK else SMALL
ELEMENTS: Final = 900
#: The elements of a bomb that hold up the loop, or stay in memory, without the defence.
PLANTED: Final = replace(SMALL, elements=FULL.elements)
LIST_OFFSETS: Final = 2
#: Each element is a part of one turn, of which a clock's reading takes a tenth.
FEWEST_TURNS: Final = 50
LAST: Final = {key: api_of(key).request().__schema__.versions[1] for key in ROUTES}
#: Lists of one topic or resource, of which an element takes less than a microsecond.
OF_ONE: Final = frozenset(
    {
        "request",
        "resource_types",
        "resources.configuration_keys",
        "topics.assignments",
        "topics.assignments.broker_ids",
        "topics.configs",
    }
)
#: Names that occur more than once are counted, and then are one name.
COUNTED: Final = frozenset(
    {
        "AddPartitionsToTxn",
        "ConsumerGroupDescribe",
        "CreatePartitions",
        "DeleteGroups",
        "DescribeGroups",
        "DescribeTopicPartitions",
        "DescribeTransactions",
        "OffsetFetch",
    }
)
LATEST: Final = [
    bomb
    for key, last in LAST.items()
    for bomb in bombs(key, last, ELEMENTS)
    if bomb.place not in OF_ONE and not (bomb.api in COUNTED and bomb.shape == "repeated")
]


async def answered(harness: BrokerHarness, bomb: Bomb) -> bytes:
    header, at = read_request_header(memoryview(bomb.frame)[4:])
    context = RequestContext(
        header.request_api_key, header.request_api_version, 1, None, harness.connection
    )
    dispatch = Dispatch(harness.broker, Metrics())
    handled = await dispatch.handle(context, memoryview(bytearray(bomb.frame))[4 + at :])
    chunks = await chunks_of(handled)
    return b"" if chunks is None else joined(chunks)


def missed(options: Options, part: str, report: Callable[[str], None]) -> list[str]:
    """Return which goals of a part are missed, but for the ping's."""
    found = []
    for figure in measure(options, [part]):
        name = figure.name.removeprefix(f"bomber, {part}, ")
        report(f"{' '.join(options.broker[1:])} {figure}".lstrip())
        if not figure.is_reached and name != "longest ping":
            found.append(name)
    return found


@pytest.mark.timeout(7200 if SOAK else 180)
@pytest.mark.parametrize("part", PARTS)
def test_bombs_hold_up_neither_the_loop_nor_the_memory(
    part: str, report: Callable[[str], None]
) -> None:
    assert missed(SIZE, part, report) == []


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("mistake", "part", "found"),
    (
        ("loop_without_yield", "requests", "loop's processor"),
        ("session_without_budget", "sessions", "memory"),
    ),
)
def test_bomber_finds_a_planted_mistake(
    mistake: str, part: str, found: str, report: Callable[[str], None]
) -> None:
    planted = replace(
        PLANTED, apis=(LIST_OFFSETS,), broker=("tests.benchmarks.planted_broker", mistake)
    )

    assert found in missed(planted, part, report)


@pytest.mark.parametrize("key", ROUTES)
def test_every_request_of_every_version_is_answered(key: int) -> None:
    harness, api = BrokerHarness(), api_of(key)
    harness.host(topic=TOPIC)
    first, last = api.request().__schema__.versions

    for version in range(first, last + 1):
        for bomb in bombs(key, version, 3):
            response = run(answered(harness, bomb))
            assert isinstance(response, Buffer)
            decode(api.response(), response, version)


#: A shard decides on these requests in one turn of the loop, the last two if the group is missing.
IN_ONE_TURN: Final = frozenset(
    [
        "ConsumerGroupHeartbeat",
        "JoinGroup",
        "LeaveGroup",
        "ListGroups",
        "ListTransactions",
        "SyncGroup",
        "OffsetDelete",
        "OffsetFetch",
    ]
)
#: A broker without a cluster does not read the elements of these requests.
UNREAD: Final = frozenset(["ListPartitionReassignments"])
#: A shard handles these requests in pieces of MOST_PARTITIONS.
IN_PIECES: Final = frozenset(["OffsetCommit", "TxnOffsetCommit"])
IN_TURNS: Final = [
    each
    for each in LATEST
    if each.api not in IN_ONE_TURN | IN_PIECES | UNREAD
    or (each.api == "OffsetFetch" and each.place == "groups")
]
OF_PIECES: Final = [each for each in LATEST if each.api in IN_PIECES]


class LongStepsClock(SteppingClock):
    """A clock of which each reading takes a turn."""

    def step(self) -> None:
        self._elapsed_ms += TURN_MS


def turns_of_bomb(bomb: Bomb, clock: SteppingClock) -> int:
    """Return the number of turns of the loop that a bomb takes."""
    harness = BrokerHarness()
    harness.host(topic=TOPIC)
    harness.broker.turns = TurnQueue(clock)

    async def scene() -> int:
        return await turns_of(asyncio.ensure_future(answered(harness, bomb)))

    return run(scene())


@pytest.mark.parametrize("bomb", IN_TURNS, ids=lambda bomb: bomb.name)
def test_long_request_leaves_its_turns(bomb: Bomb) -> None:
    assert turns_of_bomb(bomb, SteppingClock()) >= FEWEST_TURNS


@pytest.mark.parametrize("bomb", OF_PIECES, ids=lambda bomb: bomb.name)
def test_request_of_many_partitions_leaves_its_turn_after_each_piece(bomb: Bomb) -> None:
    assert turns_of_bomb(bomb, LongStepsClock()) >= ELEMENTS // MOST_PARTITIONS


async def answered_then_collected(harness: BrokerHarness, bomb: Bomb) -> int:
    """Return the number of objects of a request that only a garbage collection frees."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        await answered(harness, bomb)
        return gc.collect()
    finally:
        gc.enable()
        gc.unfreeze()


@pytest.mark.parametrize("key", ROUTES)
def test_elements_of_a_request_are_freed_without_a_collection(key: int) -> None:
    """A broker at work makes no full collection, so that cycles would stay for a day."""
    for bomb in bombs(key, LAST[key], ELEMENTS):
        harness = BrokerHarness()
        harness.host(topic=TOPIC)

        assert run(answered_then_collected(harness, bomb)) < ELEMENTS // 2, bomb.name
