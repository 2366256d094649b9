"""Kills of a pipeline and of its broker, at each step of the pipeline.

The input grows while the pipeline runs. Input and output have the same partitions, so the output
must equal the input partition by partition, in its order.
"""

import queue
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import chain, islice, product, repeat
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

import cordwood
from tests.robustness.pipelines import GROUP, INPUT, OUTPUT, Step
from tests.serving import PATIENCE_S, ROOT, Serving

if TYPE_CHECKING:
    from cordwood.client.producer.delivery import Delivery

PARTITIONS: Final = 2
#: Limits of the records that arrive with each poll of the pipeline.
MOST_ARRIVING: Final = 30
#: The most steps between two kills.
MOST_STEPS: Final = 15
#: The states of transactions that have ended, with all their markers.
ENDED: Final = {"Empty", "CompleteCommit", "CompleteAbort"}


class Victim(StrEnum):
    """The processes that a kill ends."""

    PIPELINE = "pipeline"
    BROKER = "broker"
    BOTH = "both"


class Kill(NamedTuple):
    """A kill before a step of the pipeline, or while the step is under way."""

    victim: Victim
    step: Step
    is_under_way: bool


def planned(
    victims: Iterable[Victim], steps: Iterable[Step], *, count: int, chance: random.Random
) -> list[Kill]:
    """Return kills in random order; no kind comes again before all have come."""
    kinds = [Kill(*each) for each in product(victims, steps, (False, True))]
    rounds = (chance.sample(kinds, len(kinds)) for _ in repeat(None))
    return [*islice(chain.from_iterable(rounds), count)]


class PipelineProcess:
    """A pipeline in a process, which waits before each step."""

    def __init__(self, client: str, semantics: str) -> None:
        self._arguments = (client, semantics)
        self._process: subprocess.Popen[str] | None = None
        self._steps = queue.SimpleQueue[str]()

    def start(self, bootstrap: str) -> None:
        """Start; the steps of an earlier process are forgotten."""
        command = (sys.executable, "-m", "tests.robustness.pipelines", *self._arguments, bootstrap)
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._process, self._steps = process, queue.SimpleQueue()
        threading.Thread(target=_read_lines, args=(process, self._steps)).start()

    def next_step(self) -> Step | None:
        """Wait until it comes to a step; None if it has ended."""
        try:
            line = self._steps.get(timeout=2 * PATIENCE_S)
        except queue.Empty:
            raise AssertionError("the pipeline is stuck in a step") from None
        return Step(line) if line else None

    def go(self) -> None:
        """Let it take the step before which it waits."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """End it with SIGKILL."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()


def _read_lines(process: "subprocess.Popen[str]", steps: "queue.SimpleQueue[str]") -> None:
    """Put each line into a queue, and an empty one at the end."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            steps.put(line.strip())
    steps.put("")


class Feeder:
    """Writes numbered records to the input, through kills of the broker."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = cordwood.Producer(
            bootstrap, request_timeout_ms=5_000, max_block_ms=1000 * PATIENCE_S
        )
        self._sent: list[Delivery] = []
        self.values: list[list[bytes]] = [[] for _ in range(PARTITIONS)]

    def feed(self, count: int) -> None:
        """Send records to the partitions in turn."""
        for _ in range(count):
            partition = len(self._sent) % PARTITIONS
            value = b"%d" % len(self._sent)
            self.values[partition].append(value)
            self._sent.append(self._producer.send(INPUT, value, partition=partition))

    def flush(self) -> None:
        """Wait until all records are acknowledged."""
        for each in self._sent:
            each.result()

    def close(self) -> None:
        self._producer.close()


class PipelineChaos:
    """Kills of one pipeline and its broker, and counts of them."""

    def __init__(self, broker: Serving, pipeline: PipelineProcess, chance: random.Random) -> None:
        self._broker = broker
        self._pipeline = pipeline
        self._chance = chance
        self._feeder = Feeder(broker.address)
        self._at: Step | None = None
        self._kills = list[Kill]()
        self._longest_step_s = 0.0
        self.ended_by_errors = 0

    def __str__(self) -> str:
        victims = Counter(each.victim for each in self._kills)
        steps = Counter(each.step for each in self._kills)
        under_way = sum(each.is_under_way for each in self._kills)
        return (
            f"{len(self._kills)} kills ({_counts(victims)}; at {_counts(steps)}; {under_way} under"
            f" way),"
            f" {self.ended_by_errors} errors, longest step {self._longest_step_s:.1f} s"
        )

    def survive(self, kills: Sequence[Kill]) -> list[list[bytes]]:
        """Run the pipeline through kills and to the end of its input; return the input."""
        self._pipeline.start(self._broker.address)
        for kill in kills:
            for _ in range(self._chance.randrange(MOST_STEPS)):
                self._take_step()
            while self._waiting_at() is not kill.step:
                self._take_step()
            self._strike(kill)
        self._feeder.flush()
        while self._waiting_at() is not Step.POLL or not self._is_done():
            self._go()
        return self._feeder.values

    def _strike(self, kill: Kill) -> None:
        """Kill; a step that is under way has run for as long as some records take to be sent."""
        if kill.is_under_way:
            self._go()
            self._feeder.feed(self._chance.randrange(MOST_ARRIVING))
        if kill.victim is not Victim.BROKER:
            self._pipeline.kill()
        if kill.victim is not Victim.PIPELINE:
            self._broker.kill()
            self._broker.start()
        if kill.victim is not Victim.BROKER:
            self._at = None
            self._pipeline.start(self._broker.address)
        self._kills.append(kill)

    def _take_step(self) -> None:
        """Let the pipeline take its next step; records arrive before each poll."""
        if self._waiting_at() is Step.POLL:
            self._feeder.feed(self._chance.randrange(MOST_ARRIVING))
        self._go()

    def _waiting_at(self) -> Step:
        """Wait until the pipeline has come to a step; start it again if an error has ended it."""
        began_s = perf_counter()
        while self._at is None:
            self._at = self._pipeline.next_step()
            if self._at is None:
                self.ended_by_errors += 1
                self._pipeline.kill()
                self._pipeline.start(self._broker.address)
        self._longest_step_s = max(self._longest_step_s, perf_counter() - began_s)
        return self._at

    def _go(self) -> None:
        self._waiting_at()
        self._at = None
        self._pipeline.go()

    def _is_done(self) -> bool:
        """Whether the offsets of all input are committed, and all markers written."""
        ends = {(INPUT, index): len(each) for index, each in enumerate(self._feeder.values)}
        with cordwood.Admin(self._broker.address) as admin:
            states = {each.state for each in admin.list_transactions()}
            found = admin.list_group_offsets(GROUP, list(ends))
        return states <= ENDED and {place: each.offset for place, each in found.items()} == ends

    def close(self) -> None:
        """End the pipeline and the feeder."""
        self._pipeline.kill()
        self._feeder.close()


def _counts(found: Counter[Step] | Counter[Victim]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(found.items()))


def output_of(broker: Serving) -> list[list[bytes]]:
    """Return the committed output of each partition."""
    places = [(OUTPUT, index) for index in range(PARTITIONS)]
    with cordwood.Consumer(broker.address, isolation_level="read_committed") as consumer:
        consumer.assign(places)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(places)
        found: list[list[bytes]] = [[] for _ in places]
        while any(consumer.position(place) < end for place, end in ends.items()):
            for each in consumer.poll(100):
                found[each.partition].append(each.value or b"")
    return found
