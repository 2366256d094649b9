"""One simulation of the exactly-once sink: a query, the faults of one seed, the invariants.

The durable state of Spark is its offset log and its commit log. Drivers die, or go on as zombies
while a successor runs; worker processes die and attempts are repeated, speculated and stalled.
In some seeds a replay has another number of slots, with other rows in each.

A query may stand still until its transactional ids have expired. If it then repeats a batch whose
outcome is forgotten, it is refused, and an operator looks at the topic and sets `onMissingRecord`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from cordwood.core.errors import CordwoodError
from cordwood.spark.sink.exactly_once.batch_preparation import SinkPlan, prepare_batch
from cordwood.spark.sink.exactly_once.intent_record import IntentRecord, join_record
from cordwood.spark.sink.exactly_once.sink_names import SinkNames
from cordwood.spark.sink.sink_options import OnMissingRecord
from tests.crash.sink_actors import Acts, DriverRun, WorkerProcess, driven
from tests.crash.sink_brokers import (
    EXPIRATION_MS,
    ONGOING,
    SimulatedBrokers,
    TransactionKey,
    Violation,
)

_MOST_STEPS: Final = 30_000
_FAULTY_STEPS: Final = 1_200
ONCE: Final = "each row is visible once"
DECIDED: Final = "no row is visible before its batch is decided"
ONE_DECISION: Final = "a decided batch is not decided again"
NO_ORPHAN: Final = "no transaction stays open"
KEPT: Final = "a decided transaction is lost to its timeout alone"
DRAINED: Final = "a task reads all rows"
PROGRESS: Final = "the query goes on"


class _Actor(NamedTuple):
    acts: Acts[None]
    worker: WorkerProcess | None


class SinkSimulation:
    """The world of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random = Random(seed)
        self.counts: Counter[str] = Counter()
        self.brokers = SimulatedBrokers(
            random,
            on_visible=self._see,
            on_record=self._note_decision,
            on_abort=self._ensure_undecided,
        )
        timeout_ms = random.choice((2_000, 60_000, 900_000))
        self.plan = SinkPlan(names=SinkNames("s"), timeout_ms=timeout_ms)
        self.cores = random.randint(1, 3)
        self.is_faulty = True
        self.steps = 0
        self.visible: Counter[int] = Counter()
        self._committed_keys: set[TransactionKey] = set()
        self._replayed: set[int] = set()  # batches, by an operator
        self._is_replanned = random.random() < 0.15
        self._batches = self._planned()
        self._logged, self._committed = 0, 0
        self._decisions: dict[int, IntentRecord] = {}
        self._actors: list[_Actor] = []
        self._runs: list[DriverRun] = []
        self._stalled: dict[Acts[None], int] = {}

    def _planned(self) -> list[list[list[int]]]:
        """Return the rows of each slot of each batch."""
        batches, row = [], 0
        for _ in range(self.random.randint(2, 4)):
            slots = []
            for _ in range(self.random.randint(1, 3)):
                count = self.random.choice((0, 2, 3, 5))
                slots.append(list(range(row, row + count)))
                row += count
            batches.append(slots)
        return batches

    # -- Spark's durable state

    def next_batch(self) -> int | None:
        """Return the batch to run: the one without a commit, or a new one."""
        if self._committed >= len(self._batches):
            return None
        if self._logged > self._committed:
            self.counts["replay"] += 1
        self._logged = max(self._logged, self._committed + 1)
        return self._committed

    def log_commit(self, batch: int) -> None:
        """Write the commit log; a driver that comes too late changes nothing."""
        self._committed = max(self._committed, batch + 1)
        self.plan = replace(self.plan, on_missing=OnMissingRecord.FAIL)

    def slots_of(self, batch: int) -> list[list[int]]:
        """Return the rows of each slot; some seeds deal them to other slots in a replay."""
        slots = self._batches[batch]
        if not self._is_replanned or self.random.random() < 0.5:
            return slots
        self.counts["replanned"] += 1
        rows = [row for slot in slots for row in slot]
        count = self.random.randint(1, 3)
        return [rows[number::count] for number in range(count)]

    # -- invariants

    def _note_decision(self) -> None:
        staged = self.brokers.staged
        assert staged is not None
        record = join_record(staged)
        assert record is not None
        before = self._decisions.get(record.batch)
        if record.is_withdrawn:
            self.counts["partly lost" if record.slots else "wholly lost"] += 1
        elif (
            before is not None and not before.is_withdrawn and not self._is_settled_by_hand(record)
        ):
            raise Violation(ONE_DECISION, f"batch {record.batch}")
        self._decisions[record.batch] = record
        if not record.is_withdrawn:
            self._ensure_alive(record)

    def _is_settled_by_hand(self, record: IntentRecord) -> bool:
        """Return whether an operator has let a batch be replayed, or assumed to be done."""
        is_assumed = not record.handles(self.plan.names)
        return is_assumed or record.batch in self._replayed

    def _ensure_alive(self, record: IntentRecord) -> None:
        for each in record.handles(self.plan.names):
            found = self.brokers.ids[each.transactional_id]
            if not found.is_timed_out and (found.state, *found.key) != (ONGOING, *each[:3]):
                raise Violation(KEPT, f"{each} is decided, and is {found.state}, {found.key}")

    def _ensure_undecided(self, key: TransactionKey) -> None:
        """Check a transaction that is aborted."""
        for record in self._decisions.values():
            for each in () if record.is_withdrawn else record.handles(self.plan.names):
                if tuple(key) == each[:3]:
                    raise Violation(KEPT, f"{key} is aborted after the decision")

    def _see(self, key: TransactionKey, rows: list[int]) -> None:
        """Check rows that become visible."""
        named = {
            (each.transactional_id, each.producer_id, each.epoch)
            for record in self._decisions.values()
            for each in record.handles(self.plan.names)
        }
        if tuple(key) not in named:
            raise Violation(DECIDED, f"{key}")
        self._committed_keys.add(key)
        self.visible.update(rows)
        twice = [row for row in rows if self.visible[row] > 1]
        if twice:
            raise Violation(ONCE, f"rows {twice} of {key} are visible twice")

    def ensure_drained(self, rows: list[int], read: list[int]) -> None:
        """Check that a task has read all its rows."""
        if rows != read:
            raise Violation(DRAINED, f"{len(read)} of {len(rows)} rows were read")

    # -- the course

    def run(self) -> Counter[str]:
        """Run to the end, and return the counts; raise Violation."""
        self._start_driver()
        while not self._is_done():
            self._step()
            if self.steps > _MOST_STEPS:
                raise Violation(PROGRESS, f"{self._committed} of {len(self._batches)} batches")
            if self._refused() is not None:
                self.counts["refused"] += 1
                return self.counts + self.brokers.counts
        self._end()
        return self.counts + self.brokers.counts

    def _end(self) -> None:
        """Let everything settle, then check the end as a next start would find it."""
        self.is_faulty = False
        self._actors.clear()
        self.brokers.settle()
        rows = {row for slots in self._batches for slot in slots for row in slot}
        if missing := rows - self.visible.keys():
            raise Violation(ONCE, f"rows {sorted(missing)} are not visible")
        last = DriverRun(self)
        for _ in driven(self, prepare_batch(self.plan, last.memory)):
            self.brokers.advance(10)
        self.brokers.settle()
        if self.brokers.can_list and (left := list(self.brokers.open_ids())):
            raise Violation(NO_ORPHAN, f"{left}")

    def _is_done(self) -> bool:
        return self._committed >= len(self._batches) and not self._runs

    def _refused(self) -> CordwoodError | None:
        """Return the error of a batch that no replay can finish.

        Only another plan may cause it, or outcomes that are forgotten, of which some were lost.
        """
        for each in self._runs:
            if not each.is_over or each.error is None:
                continue
            if "the replay gives" in str(each.error):
                if not self._is_replanned:
                    raise Violation(PROGRESS, str(each.error))
                return each.error
            if "no longer know the outcome" in str(each.error) and not self._settle_by_hand():
                return each.error
        return None

    def _settle_by_hand(self) -> bool:
        """Set onMissingRecord after a look at the topic; return whether a setting is exact."""
        record = self._decisions.get(self._committed)
        if record is None or record.is_withdrawn:
            return True  # another driver was faster
        keys = [TransactionKey(*each[:3]) for each in record.handles(self.plan.names)]
        found = {key: self.brokers.ids.get(key.name) for key in keys}
        are_visible = {
            key in self._committed_keys
            for key, each in found.items()
            if each is None or each.producer_id != key.producer_id
        }
        if not are_visible:
            return True  # as above
        if len(are_visible) > 1:
            self.counts["outcomes differ"] += 1
            return False
        policy = OnMissingRecord.ASSUME_DONE if are_visible == {True} else OnMissingRecord.REPLAY
        self.counts[f"forgotten: {policy}"] += 1
        if policy is OnMissingRecord.REPLAY:
            self._replayed.add(record.batch)
        self.plan = replace(self.plan, on_missing=policy)
        return True

    def _step(self) -> None:
        self.steps += 1
        self.is_faulty = self.steps < _FAULTY_STEPS
        self.brokers.advance(self.random.randint(0, 20))
        self._replace_drivers()
        ready = [each for each in self._actors if self._stalled.get(each.acts, 0) <= self.steps]
        if not ready:
            return
        actor = self.random.choice(ready)
        if self.happens("stall", 0.03 if actor.worker is None else 0.01):
            self._stalled[actor.acts] = self.steps + self.random.randint(20, 400)
            return
        if actor.worker is not None and self.happens("worker killed", 0.006):
            actor.worker.is_dead = True
            self._forget(actor)
            return
        try:
            next(actor.acts)
        except StopIteration:
            self._actors.remove(actor)

    def _forget(self, actor: _Actor) -> None:
        assert actor.worker is not None
        if actor.worker.attempt is not None:
            actor.worker.attempt.is_over = True
        self._actors.remove(actor)

    def _replace_drivers(self) -> None:
        """Let drivers die, and start their successors."""
        for run in list(self._runs):
            if run.is_over:
                self._runs.remove(run)
                if run.error is not None:
                    self._pause()
                if not self._runs and self._committed < len(self._batches):
                    self._start_driver(run if self.happens("same session", 0.5) else None)
            elif self.happens("driver killed", 0.006):
                self._runs.remove(run)
                self._actors = [each for each in self._actors if not self._is_of(each, run)]
                self._pause()
                if not self._runs:
                    self._start_driver()
            elif len(self._runs) < 3 and self.happens("zombie driver", 0.004):
                self._start_driver()

    def _pause(self) -> None:
        """Let the query stand still for a while, sometimes longer than transactions may last."""
        if self.happens("long pause", 0.4):
            self.brokers.advance(self.random.choice((3_000, 70_000, 1_000_000)))
            if self.happens("very long pause", 0.2):
                self.brokers.settle()
                self.brokers.advance(EXPIRATION_MS + 1)
                self.plan = replace(self.plan, on_missing=OnMissingRecord.FAIL)

    def _is_of(self, actor: _Actor, run: DriverRun) -> bool:
        """Return whether an actor ends with a driver; some workers outlive it."""
        if actor.worker is None:
            return actor.acts is run.acts
        if actor.worker.run is not run:
            return False
        return not self.happens("zombie task", 0.5)

    def _start_driver(self, before: DriverRun | None = None) -> None:
        run = DriverRun(self, before=before)
        self._runs.append(run)
        self._actors.append(_Actor(run.acts, None))

    def start(self, acts: Acts[None], worker: WorkerProcess) -> None:
        """Start an attempt."""
        self._actors.append(_Actor(acts, worker))

    def happens(self, fault: str, chance: float) -> bool:
        """Return whether a fault happens now, and count it."""
        if not self.is_faulty or self.random.random() >= chance:
            return False
        self.counts[fault] += 1
        return True


def simulated(seeds: Iterable[int]) -> Counter[str]:
    """Run seeds; return what has happened in all of them."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        world = SinkSimulation(seed)
        try:
            counts += world.run()
        except Violation as error:
            error.add_note(f"seed {seed}")
            raise
    return counts
