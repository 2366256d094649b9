"""Tests of coordinators that move between the brokers of a cluster."""

import asyncio

import pytest

from cordwood.broker.handlers.coordinators import find_coordinator
from cordwood.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from cordwood.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from cordwood.storage.log_config import LogConfig
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.coordinators.cluster_samples import (
    OFFSETS,
    TRANSACTIONS,
    CoordinatedBrokers,
    coordinated,
)
from tests.unit.broker.coordinators.coordinator_samples import GROUP, TRANSACTION
from tests.unit.broker.handlers.test_consumer_groups import beat
from tests.unit.broker.handlers.test_group_offsets import commit, fetch
from tests.unit.broker.handlers.test_groups import MemberOf
from tests.unit.broker.handlers.transaction_samples import TransactionalProducerOf

#: The first version of Produce with transactions of version 2.
IMPLICIT = 12


async def begun(brokers: CoordinatedBrokers, *, version: int = 13) -> TransactionalProducerOf:
    """Return a producer with its id, whose transaction has a record in `orders-0` of broker 2."""
    await brokers.move("orders", 2)
    producer = TransactionalProducerOf(brokers[1], version=version)
    assert await brokers.during(producer.init()) == 0
    if version < IMPLICIT:
        assert await brokers.during(producer.add()) == 0
    producer.harness = brokers[2]
    assert await brokers.during(producer.send()) == 0
    producer.harness = brokers[1]
    return producer


def bounds(brokers: CoordinatedBrokers, node_id: int) -> tuple[int, int]:
    """Return the last stable offset and the log end of `orders-0` on a broker."""
    found = brokers.partition(node_id, "orders").log.bounds
    return found.last_stable, found.log_end


def state(brokers: CoordinatedBrokers, node_id: int) -> str:
    """Return the state of the transaction at its coordinator."""
    (shard,) = brokers[node_id].broker.coordinators.transactions.runtime.shards()
    metadata = shard.transactions.get("t")
    assert metadata is not None
    return metadata.state.kafka_name


def markers_of(brokers: CoordinatedBrokers, sender: int) -> list[int]:
    """Return the brokers to which one has sent markers."""
    return brokers.requests_of(sender, WriteTxnMarkersRequest)


async def fetched(brokers: CoordinatedBrokers, node_id: int) -> tuple[int, int]:
    """Return the error and the committed offset of `g` in `orders-0`, as a broker has them."""
    group = (await brokers.during(fetch(brokers[node_id]))).groups[0]
    if group.error_code:
        return group.error_code, -1
    return 0, group.topics[0].partitions[0].committed_offset


# -- transactions


def test_transaction_of_another_broker_is_verified_and_ended_by_its_coordinator() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            producer = await begun(brokers)
            before = bounds(brokers, 2)
            code = await brokers.during(producer.end(version=5))
            await brokers.settle()
            additions = brokers.requests_of(2, AddPartitionsToTxnRequest)
            return before, code, additions, bounds(brokers, 2), state(brokers, 1)

    assert run(scene()) == ((0, 1), 0, [1], (2, 2), "CompleteCommit")


def test_leader_with_the_versions_of_kafka_3_9_takes_part_in_a_transaction() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            brokers.versions[WriteTxnMarkersRequest] = 1
            brokers.versions[AddPartitionsToTxnRequest] = 4
            producer = await begun(brokers)
            codes = [await brokers.during(producer.end(version=5))]
            await brokers.settle()
            producer.harness = brokers[2]
            codes.append(await brokers.during(producer.send()))
            return codes, bounds(brokers, 2), state(brokers, 1)

    assert run(scene()) == ([0, 0], (2, 3), "Ongoing")


def test_marker_reaches_a_leader_that_moves_meanwhile() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            producer = await begun(brokers)
            brokers.unreachable.add(2)
            brokers.elect(TRANSACTIONS, 1, isr=(1, 3))
            brokers.send_roles(1, 3)
            brokers.send_images(1, 3)
            await brokers.settle()
            code = await brokers.during(producer.end(version=5))
            await brokers.settle()
            before = state(brokers, 1)
            brokers.elect("orders", 3, isr=(1, 3))
            brokers.send_roles(1, 3)
            brokers.send_images(1, 3)
            await brokers.advance(ms=1_000)
            return code, before, markers_of(brokers, 1), bounds(brokers, 3), state(brokers, 1)

    assert run(scene()) == (0, "PrepareCommit", [2, 3], (2, 2), "CompleteCommit")


def test_partition_without_a_leader_gets_its_marker_from_the_next_one() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            producer = await begun(brokers)
            await brokers.move("orders", -1)
            await brokers.during(producer.end(version=5))
            await brokers.settle()
            before = state(brokers, 1)
            await brokers.move("orders", 3)
            await brokers.advance(ms=1_000)
            return before, markers_of(brokers, 1), bounds(brokers, 3), state(brokers, 1)

    assert run(scene()) == ("PrepareCommit", [3], (2, 2), "CompleteCommit")


def test_partition_of_a_topic_that_is_deleted_meanwhile_needs_no_marker() -> None:
    async def scene() -> tuple[str, str]:
        async with coordinated() as brokers:
            producer = await begun(brokers)
            await brokers.move("orders", -1)
            await brokers.during(producer.end(version=5))
            await brokers.settle()
            before = state(brokers, 1)
            brokers.delete("orders")
            brokers.send_roles()
            brokers.send_images()
            await brokers.advance(ms=1_000)
            return before, state(brokers, 1)

    assert run(scene()) == ("PrepareCommit", "CompleteCommit")


@pytest.mark.parametrize("is_commit", (True, False))
def test_next_coordinator_completes_a_prepared_transaction(*, is_commit: bool) -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            producer = await begun(brokers)
            await brokers.move("orders", -1)
            code = await brokers.during(producer.end(committed=is_commit, version=5))
            await brokers.move(TRANSACTIONS, 3)
            await brokers.move("orders", 2)
            await brokers.advance(ms=1_000)
            return code, markers_of(brokers, 1), bounds(brokers, 2), state(brokers, 3)

    name = "CompleteCommit" if is_commit else "CompleteAbort"
    assert run(scene()) == (0, [], (2, 2), name)


def test_end_that_no_other_replica_has_is_not_acknowledged() -> None:
    """The next coordinator does not know of it, and the client sends it again."""

    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            producer = await begun(brokers)
            brokers.unreachable.add(1)
            ending = asyncio.ensure_future(producer.end(version=5))
            await brokers.settle()
            waits = not ending.done()
            await brokers.move(TRANSACTIONS, 3)
            brokers.unreachable.clear()
            brokers.send_roles(1)
            brokers.send_images(1)
            await brokers.settle()
            first = await ending
            before = state(brokers, 3)
            producer.harness = brokers[3]
            again = await brokers.during(producer.end(version=5))
            await brokers.settle()
            return waits, first, before, again, bounds(brokers, 2), state(brokers, 3)

    assert run(scene()) == (True, 16, "Ongoing", 0, (2, 2), "CompleteCommit")


@pytest.mark.parametrize("version", (11, 13))
def test_coordinator_of_an_old_epoch_is_fenced_by_the_leader(version: int) -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            producer = await begun(brokers, version=version)
            await brokers.move("orders", -1)
            await brokers.during(producer.end(version=4 if version < IMPLICIT else 5))
            await brokers.move("orders", 2)
            brokers.elect(TRANSACTIONS, 3, isr=(2, 3))
            brokers.send_roles(2, 3)
            brokers.send_images(2, 3)
            await brokers.settle()
            assert state(brokers, 3) == "CompleteCommit"
            ended = bounds(brokers, 2)
            for _ in range(3):
                await brokers.advance(ms=1_000)
            return ended == bounds(brokers, 2), markers_of(brokers, 1), state(brokers, 1)

    assert run(scene()) == (True, [2], "PrepareCommit")


def test_transactions_time_out_at_their_present_coordinator_alone() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            await begun(brokers)
            await brokers.move(TRANSACTIONS, 3)
            await brokers.advance(ms=61_000)
            await brokers.advance(ms=11_000)
            shards = [*brokers[1].broker.coordinators.transactions.runtime.shards()]
            return shards, markers_of(brokers, 1), state(brokers, 3), bounds(brokers, 2)

    assert run(scene()) == ([], [], "CompleteAbort", (2, 2))


def test_offsets_of_a_transaction_are_committed_on_another_broker() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            await brokers.move(OFFSETS, 3)
            producer = TransactionalProducerOf(brokers[1], version=13)
            await brokers.during(producer.init())
            producer.harness = brokers[3]
            codes = [await brokers.during(producer.commit_offset(7, version=5))]
            producer.harness = brokers[1]
            codes.append(await brokers.during(producer.end(version=5)))
            await brokers.settle()
            return codes, await fetched(brokers, 3), state(brokers, 1)

    assert run(scene()) == ([0, 0], (0, 7), "CompleteCommit")


# -- verification


async def verified(brokers: CoordinatedBrokers, *, version: int) -> int:
    """Send a batch of a transaction to broker 2, which has to verify it; return the error."""
    await brokers.move("orders", 2)
    producer = TransactionalProducerOf(brokers[1], version=version)
    assert await brokers.during(producer.init()) == 0
    producer.harness = brokers[2]
    return await brokers.during(producer.send())


@pytest.mark.parametrize(("version", "code"), ((10, 48), (11, 120), (12, 0)))
def test_partition_is_verified_or_added_by_another_broker(version: int, code: int) -> None:
    async def scene() -> int:
        async with coordinated() as brokers:
            return await verified(brokers, version=version)

    assert run(scene()) == code


def test_coordinator_that_cannot_be_reached_rejects_the_batch_as_retriable() -> None:
    async def scene() -> list[int]:
        async with coordinated() as brokers:
            await verified(brokers, version=12)
            producer = TransactionalProducerOf(brokers[1], "u", version=12)
            await brokers.during(producer.init())
            producer.harness = brokers[2]
            brokers.unreachable.add(1)
            codes = [await brokers.during(producer.send())]
            brokers.unreachable.clear()
            await brokers.move(TRANSACTIONS, -1)
            codes.append(await brokers.during(producer.send()))
            return codes

    assert run(scene()) == [19, 19]


def test_offsets_are_verified_by_another_broker() -> None:
    async def scene() -> list[int]:
        async with coordinated() as brokers:
            await brokers.move(OFFSETS, 3)
            producer = TransactionalProducerOf(brokers[1])
            await brokers.during(producer.init())
            producer.harness = brokers[3]
            codes = [await brokers.during(producer.commit_offset(7, version=4))]
            await brokers.move(TRANSACTIONS, -1)
            codes.append(await brokers.during(producer.commit_offset(7, version=5)))
            return codes

    assert run(scene()) == [120, 15]


# -- groups


def test_member_of_a_classic_group_survives_a_move_of_its_coordinator() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            member = MemberOf(brokers[1])
            await brokers.during(member.enter())
            await brokers.move(OFFSETS, 2)
            codes = [await brokers.during(member.heartbeat())]
            member.harness = brokers[2]
            for _ in range(4):
                codes.append(await brokers.during(member.heartbeat()))
                await brokers.advance(ms=4_000)
            return codes, member.generation

    assert run(scene()) == ([16, 0, 0, 0, 0], 1)


def test_member_of_a_consumer_group_survives_a_move_of_its_coordinator() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            epoch = (await brokers.during(beat(brokers[1]))).member_epoch
            await brokers.move(OFFSETS, 2)
            found = [await brokers.during(beat(brokers[1], epoch))]
            for _ in range(4):
                found.append(await brokers.during(beat(brokers[2], epoch)))
                await brokers.advance(ms=20_000)
            return epoch, [(each.error_code, each.member_epoch) for each in found]

    assert run(scene()) == (2, [(16, 0), (0, 2), (0, 2), (0, 2), (0, 2)])


def test_member_that_waits_is_sent_away_when_the_leadership_ends() -> None:
    async def scene() -> tuple[bool, int]:
        async with coordinated(group_initial_rebalance_delay_ms="3000") as brokers:
            member = MemberOf(brokers[1])
            await brokers.during(member.join())
            joining = asyncio.ensure_future(member.join())
            await brokers.settle()
            waits = not joining.done()
            brokers.elect(OFFSETS, 2)
            brokers.send_roles(1)
            await turns(20)
            return waits, (await joining).error_code

    assert run(scene()) == (True, 16)


def test_commit_that_no_other_replica_has_is_not_acknowledged() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            codes = [await brokers.during(commit(brokers[1], 5))]
            committing = asyncio.ensure_future(commit(brokers[1], 6))
            await turns(20)
            waits = not committing.done()
            brokers.elect(OFFSETS, 2)
            brokers.send_roles()
            brokers.send_images()
            codes.append(await committing)
            await brokers.settle()
            return waits, codes, await fetched(brokers, 2)

    assert run(scene()) == (True, [[0, 0], [16, 16]], (0, 5))


def test_group_is_not_served_before_all_loaded_records_count() -> None:
    """Another leader could lose an offset that a client has fetched."""

    async def scene() -> tuple[object, ...]:
        async with coordinated() as brokers:
            committing = asyncio.ensure_future(commit(brokers[1], 6))
            await turns(20)
            await brokers.replicate()
            brokers.elect(OFFSETS, 2)
            brokers.send_roles()
            brokers.send_images()
            await turns(20)
            early = (await fetch(brokers[2])).groups[0].error_code
            await brokers.settle()
            return early, await committing, await fetched(brokers, 2)

    assert run(scene()) == (14, [16, 16], (0, 6))


def test_commit_with_too_few_replicas_in_sync_finds_no_coordinator() -> None:
    async def scene() -> list[int]:
        async with coordinated(LogConfig(min_insync_replicas=2)) as brokers:
            brokers.elect(OFFSETS, 1, isr=(1,))
            brokers.send_roles()
            brokers.send_images()
            await brokers.settle()
            return await brokers.during(commit(brokers[1], 5))

    assert run(scene()) == [15, 15]


def test_offsets_expire_at_the_present_coordinator_alone() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinated(offsets_retention_minutes="1") as brokers:
            await brokers.during(commit(brokers[1], 5))
            await brokers.move(OFFSETS, 2)
            before = await fetched(brokers, 2)
            brokers.unreachable.add(1)
            end = brokers.partition(1, OFFSETS).log.bounds.log_end
            for _ in range(3):
                await brokers.advance(ms=600_000)
            former = brokers.partition(1, OFFSETS).log.bounds.log_end
            brokers.unreachable.clear()
            await brokers.settle()
            return before, former == end, await fetched(brokers, 2)

    assert run(scene()) == ((0, 5), True, (0, -1))


# -- the coordinator of a key


async def coordinator_of(brokers: CoordinatedBrokers, kind: int) -> tuple[int, int]:
    """Return the error and the coordinator, as broker 3 finds it."""
    harness = brokers[3]
    request = FindCoordinatorRequest(key="g", key_type=kind)
    answer = await find_coordinator(harness.broker, harness.context(3), request)
    return answer.error_code, answer.node_id


@pytest.mark.parametrize(("kind", "name"), ((GROUP, OFFSETS), (TRANSACTION, TRANSACTIONS)))
def test_coordinator_is_the_leader_of_the_image(kind: int, name: str) -> None:
    async def scene() -> list[tuple[int, int]]:
        async with coordinated() as brokers:
            found = [await coordinator_of(brokers, kind)]
            for leader in (2, -1):
                await brokers.move(name, leader)
                found.append(await coordinator_of(brokers, kind))
            return found

    assert run(scene()) == [(0, 1), (0, 2), (15, -1)]


# -- roles and images


def leads(harness: BrokerHarness) -> list[int]:
    """Return the partitions of offsets that a broker coordinates."""
    return harness.broker.coordinators.groups.runtime.active_partitions()


@pytest.mark.parametrize("is_role_first", (True, False))
def test_coordinator_is_elected_by_the_later_one_of_role_and_image(*, is_role_first: bool) -> None:
    async def scene() -> list[list[int]]:
        async with coordinated() as brokers:
            brokers.elect(OFFSETS, 2)
            steps = [brokers.send_roles, brokers.send_images]
            found = list[list[int]]()
            for step in steps if is_role_first else reversed(steps):
                step()
                await brokers.settle()
                found += [leads(brokers[1]), leads(brokers[2])]
            return found

    assert run(scene()) == [[], [], [], [0]]


def test_coordinator_of_a_later_epoch_waits_for_its_image() -> None:
    async def scene() -> list[list[int]]:
        async with coordinated() as brokers:
            brokers.elect(OFFSETS, 1)
            brokers.send_roles()
            await brokers.settle()
            before = leads(brokers[1])
            brokers.send_images()
            await brokers.settle()
            return [before, leads(brokers[1])]

    assert run(scene()) == [[], [0]]
