"""One simulation: a group, transactional producers, and the faults of one seed.

    0 s ──────────────── faults ────────────────► 8 s ── sound, at work ──► 10 s ── idle ──► 22 s
    crashes and moves of coordinators, deaths, pauses, leaves,      then the invariants of the end
    delayed, repeated and lost requests, appends that fail

The idle time ends early if everything is settled for longer than a session, but in each tenth seed:
all timeouts pass there.

The seed draws the kind of the group (eager, cooperative, KIP-848, or both kinds of members at a
time), whether its offsets are part of transactions, and the version of these.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple, TypeVar

from cordwood.client.group.assignors.assignor import Assignor
from cordwood.client.group.assignors.range_assignment import RANGE
from cordwood.client.group.assignors.sticky_assignment import COOPERATIVE_STICKY
from cordwood.protocol.messages.end_txn import EndTxnRequest
from tests.simulation.group_client import GROUP, GroupClient, Ledgers, MemberPlan
from tests.simulation.invariants import Invariants
from tests.simulation.network import Network
from tests.simulation.offset_ledger import OffsetLedger
from tests.simulation.ownership import Ownership
from tests.simulation.simulated_broker import OUTPUTS, SimulatedBroker
from tests.simulation.transaction_ledger import TransactionLedger
from tests.simulation.transactional_client import TransactionalClient
from tests.simulation.world import World
from tests.simulation.writer_client import SIMPLE_GROUP, WriterClient

FAULTY_MS: Final = 8_000.0
WORKING_MS: Final = 10_000.0
END_MS: Final = 22_000.0
_SETTLED_MS: Final = 4_000.0
_LOOK_MS: Final = 500.0
_FULL_SEEDS: Final = 10
_CHECK_MS: Final = 500.0
_SOUND_CHECK_MS: Final = 3_000.0
_CRASHES_AT_AN_END: Final = 0.03
_LONGEST_TO_CRASH_MS: Final = 40.0
#: Producers that die with the broker.
_DIE_WITH_IT: Final = 0.7
#: Deaths without a successor.
_FOR_GOOD: Final = 0.3
SOUND: Final = "the coordinators run without internal errors"

KINDS: Final = ("eager", "cooperative", "consumer", "mixed")

C = TypeVar("C", GroupClient, WriterClient)


class SimulationFailed(AssertionError):  # noqa: N818  the noun of the tests
    """A seed whose invariants do not hold, with its history."""

    def __init__(self, invariant: str, seed: int, text: str) -> None:
        super().__init__(text)
        self.invariant = invariant
        self.seed = seed


class _Writer(NamedTuple):
    """The fixed facts of a writer over its incarnations."""

    name: str
    transaction_version: int


class Simulation:
    """The clients and the broker of one seed."""

    def __init__(self, seed: int) -> None:
        self.world = world = World(seed)
        random = world.random
        self.kind = random.choice(KINDS)
        self.is_exact = random.random() < 0.5
        self._broker = SimulatedBroker(world, partitions=random.randint(2, 3))
        self._network = Network(world, self._broker)
        self._transactions = TransactionLedger(
            world, {each: self._broker.logs[each] for each in OUTPUTS}
        )
        self._offsets = {
            each: OffsetLedger(
                world, is_fenced=each == GROUP, may_repeat=self.kind in {"consumer", "mixed"}
            )
            for each in (GROUP, SIMPLE_GROUP)
        }
        self._ownership = Ownership(world, may_restart=self.kind == "mixed")
        self._invariants = self._made_invariants()
        self._members = dict[str, GroupClient]()
        self._writers = dict[str, WriterClient]()
        #: Clients whose successors run already.
        self._zombies, self._old_writers = list[GroupClient](), list[WriterClient]()
        self._incarnations = Counter[str]()
        self._has_static_members = False

    def _made_invariants(self) -> Invariants:
        return Invariants(
            self._broker,
            transactions=self._transactions,
            offsets=self._offsets,
            ownership=self._ownership,
        )

    # -- the course

    def run(self) -> Counter[str]:
        """Run to the end; return the counts, or raise the first violation."""
        world = self.world
        world.note(
            "a {} group, {}", self.kind, "exactly once" if self.is_exact else "at least once"
        )
        with world.loop.running():
            self._broker.start()
            self._network.on_arrival = self._crash_at_an_end
            self._plan_clients()
            self._plan_faults()
            self._check_later()
            world.run_until(FAULTY_MS)
            self._end_faults()
            world.run_until(WORKING_MS)
            for each in (*self._members.values(), *self._writers.values()):
                each.is_working = False
            self._idle()
            world.is_over = True
            self._invariants.settle(self._alive, self._network, is_exact=self.is_exact)
            if world.violation is not None:
                raise world.violation
        return world.counts

    def _idle(self) -> None:
        """Let everything settle."""
        world, settled_ms = self.world, 0.0
        is_full = world.seed % _FULL_SEEDS == 0
        while world.now_ms < END_MS and (is_full or settled_ms < _SETTLED_MS):
            world.run_until(world.now_ms + _LOOK_MS)
            is_settled = self._invariants.is_settled(self._alive, self._network)
            settled_ms = settled_ms + _LOOK_MS if is_settled else 0.0

    @property
    def _alive(self) -> list[GroupClient]:
        return [each for each in self._members.values() if each.is_alive]

    def _plan_clients(self) -> None:
        random = self.world.random
        for number in range(random.randint(2, 3)):
            plan = self._plan(number)
            self.world.at(random.uniform(0, 2_000), partial(self._start, plan))
        if not self.is_exact:
            writer = _Writer("w", random.choice((1, 2)))
            self.world.at(random.uniform(0, 2_000), lambda: self._start_writer(writer))

    def _plan(self, number: int) -> MemberPlan:
        return MemberPlan(
            name=f"m{number}",
            assignors=self._assignors_of(number),
            instance_id=self._instance_id(number),
            transactional_id=f"t{number}" if self.is_exact else None,
            transaction_version=self.world.random.choice((1, 2)),
        )

    def _assignors_of(self, number: int) -> tuple[Assignor, ...]:
        is_consumer = self.kind == "consumer" or (self.kind == "mixed" and number % 2 == 1)
        if is_consumer:
            return ()
        return (COOPERATIVE_STICKY,) if self.kind == "cooperative" else (RANGE,)

    def _instance_id(self, number: int) -> str | None:
        """Draw an instance id, where the protocol has no gap for the successor of a static member.

        A cooperative member that has to revoke partitions, and then join again, does not do it if
        it is replaced meanwhile: its successor owns nothing that it could revoke. As with Java's
        client, those partitions have no owner until the next rebalance.
        """
        is_drawn = self.kind != "cooperative" and self.world.random.random() < 0.3
        self._has_static_members |= is_drawn
        return f"i{number}" if is_drawn else None

    def _plan_faults(self) -> None:
        faults: tuple[tuple[Callable[[], object], int], ...] = (
            (self._crash, 2),
            (lambda: self._broker.move("groups", self._drawn_ms(1_500)), 1),
            (lambda: self._broker.move("transactions", self._drawn_ms(1_500)), 1),
            (self._kill, 2),
            (self._pause, 3),
            (self._leave, 1),
            (self._kill_writer, 2),
            (self._add_partition, 1),
        )
        for call, most in faults:
            for _ in range(self.world.random.randint(0, most)):
                self.world.at(self.world.random.uniform(1_000, FAULTY_MS), call)

    def _check_later(self) -> None:
        self._invariants.check(
            each for each in (*self._members.values(), *self._zombies) if each.is_alive
        )
        if self.world.now_ms < END_MS:
            wait_ms = _CHECK_MS if self.world.is_faulty else _SOUND_CHECK_MS
            self.world.after(wait_ms, self._check_later)

    def _end_faults(self) -> None:
        """Begin the sound part.

        A consumer group that becomes a classic one rebalances at once, but that is not in the log,
        as in Kafka: after a crash the remaining members keep what they have, until another member
        joins. So one joins here.
        """
        world = self.world
        world.note("the faults end")
        world.is_faulty = False
        if self._broker.incarnation is None:
            self._broker.start()
        for each in (*self._zombies, *self._old_writers):
            if each.is_alive:
                each.die()
        if self.kind == "mixed":
            self._start(self._plan(9))

    # -- clients

    def _start(self, plan: MemberPlan) -> None:
        name = self._name(plan.name)
        member = GroupClient(
            name,
            plan,
            self._network,
            broker=self._broker,
            ledgers=Ledgers(self._offsets[GROUP], self._ownership),
        )
        if plan.transactional_id is not None:
            member.producer = TransactionalClient(
                member,
                plan.transactional_id,
                plan.transaction_version,
                ledger=self._transactions,
                offset_ledger=self._offsets[GROUP],
            )
        member.is_working = self.world.now_ms < WORKING_MS
        member.on_death = lambda: self._succeed(member)
        self._members[plan.name] = member
        member.begin(member.run())

    def _start_writer(self, plan: _Writer) -> None:
        name = self._name(plan.name)
        start = 1_000 * self._incarnations[plan.name]
        writer = WriterClient(name, self.world, self._network, start=start)
        writer.offsets = self._offsets[SIMPLE_GROUP]
        writer.producer = TransactionalClient(
            writer,
            plan.name,
            plan.transaction_version,
            ledger=self._transactions,
            offset_ledger=writer.offsets,
        )
        writer.is_working = self.world.now_ms < WORKING_MS
        writer.on_death = lambda: self._succeed_writer(writer, plan)
        self._writers[plan.name] = writer
        writer.begin(writer.run())

    def _name(self, name: str) -> str:
        self._incarnations[name] += 1
        return f"{name}.{self._incarnations[name]}"

    def _succeed(self, member: GroupClient) -> None:
        """Start a successor of a member that has died, unless one runs."""
        if self._members.get(member.plan.name) is member:
            delay_ms = self._drawn_ms(2_500)
            self.world.after(delay_ms, lambda: self._replace(member))

    def _replace(self, member: GroupClient) -> None:
        if self._members.get(member.plan.name) is member:
            self._start(member.plan)

    def _succeed_writer(self, writer: WriterClient, plan: _Writer) -> None:
        if self._writers.get(plan.name) is writer:
            delay_ms = self._drawn_ms(2_500)

            def replace() -> None:
                if self._writers.get(plan.name) is writer:
                    self._start_writer(plan)

            self.world.after(delay_ms, replace)

    # -- faults

    def _drawn_ms(self, longest_ms: float) -> float:
        return self.world.random.uniform(20, longest_ms)

    def _crash(self) -> None:
        if self.world.is_faulty and self._broker.incarnation is not None:
            self._broker.crash()
            self.world.after(self._drawn_ms(1_500), self._restart)

    def _crash_at_an_end(self, request: object) -> None:
        """Crash some milliseconds after the end of a transaction has arrived.

        The producer may have died by then: one that is alive repeats its request, which hides a
        decision that the crash has lost.
        """
        world = self.world
        if isinstance(request, EndTxnRequest) and world.draws(_CRASHES_AT_AN_END):
            world.after(world.random.uniform(0, _LONGEST_TO_CRASH_MS), self._crash)
            if world.random.random() < _DIE_WITH_IT:
                world.count("deaths of producers at an end")
                _kill_producer(self._members, request.transactional_id, keeps=1)
                _kill_producer(self._writers, request.transactional_id, keeps=0)

    def _restart(self) -> None:
        if self._broker.incarnation is None:
            self._broker.start()

    def _a_member(self) -> GroupClient | None:
        alive = self._alive
        return self.world.random.choice(alive) if alive else None

    def _kill(self) -> None:
        member = self._a_member()
        if member is not None:
            _kill(self._members, member.plan.name, keeps=1)

    def _leave(self) -> None:
        member = self._a_member()
        if member is not None:
            member.is_leaving = True

    def _pause(self) -> None:
        """Pause a member; with a successor it will be a zombie."""
        member = self._a_member()
        if member is None:
            return
        member.pause(self._drawn_ms(6_000))
        if self.world.random.random() < 0.6:
            self.world.count("zombies")
            self._zombies.append(member)
            self.world.after(self._drawn_ms(1_000), lambda: self._replace(member))

    def _kill_writer(self) -> None:
        for name, writer in [*self._writers.items()]:
            if not writer.is_alive:
                continue
            if self.world.random.random() < 0.5:
                _kill(self._writers, name, keeps=0)
            else:
                self.world.count("zombies")
                writer.pause(self._drawn_ms(4_000))
                self._old_writers.append(writer)
                succeed = writer.on_death
                self.world.after(self._drawn_ms(500), succeed)

    def _add_partition(self) -> None:
        """Add a partition, unless a static leader that is replaced meanwhile could overlook it."""
        if self._has_static_members and self.kind != "consumer":
            return
        self._broker.add_partition()
        for member in [*self._members.values()]:
            self.world.after(self._drawn_ms(800), member.observe_metadata)


def _kill(clients: dict[str, C], name: str, *, keeps: int) -> None:
    """Let a client die; the last `keeps` clients always have a successor."""
    client = clients[name]
    world = client.world
    world.count("deaths of clients")
    if len(clients) > keeps and world.random.random() < _FOR_GOOD:
        del clients[name]
    client.die()


def _kill_producer(clients: dict[str, C], transactional_id: str, *, keeps: int) -> None:
    """Let the client with a producer die, if it is one of these."""
    for name, client in [*clients.items()]:
        producer = client.producer
        is_it = producer is not None and producer.manager.transactional_id == transactional_id
        if is_it and client.is_alive:
            _kill(clients, name, keeps=keeps)


class _Errors(logging.Handler):
    """Turns errors in the log of the coordinators into violations."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        cause = record.exc_info[1] if record.exc_info else None
        self._world.violate(SOUND, f"{record.getMessage()}: {cause!r}")


@contextmanager
def _watched(world: World) -> Iterator[None]:
    logger, handler = logging.getLogger("cordwood.coordination"), _Errors(world)
    level, propagates = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagates


def run_seed(seed: int) -> Counter[str]:
    """Run one seed; return its counts, or raise SimulationFailed with its history."""
    simulation = Simulation(seed)
    world = simulation.world
    try:
        with _watched(world):
            return simulation.run()
    except Exception as error:
        invariant = getattr(error, "invariant", type(error).__name__)
        text = f"seed {seed}\n{world.story()}\nseed {seed}: {error!r}"
        raise SimulationFailed(invariant, seed, text) from error
