"""Random steps that change the logs of a history."""

import shutil
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, Protocol

from cordwood.core.uuids import Uuid
from tests.spark.hostile_logs import ModelLog, partition

PARTITIONS: Final = (("a", 0), ("a", 1), ("b", 0))
TOPICS: Final = ("a", "b")

#: The name of a step, and the step.
NamedStep = tuple[str, Callable[[], object]]


class RandomHistory(Protocol):
    """A history that takes random steps; `steps` are their names, and `seen` counts them."""

    steps: list[str]
    seen: Counter[str]

    def run(self, count: int) -> None: ...


def take_history(
    history: RandomHistory, folder: Path, *, count: int, repeated_by: str
) -> Counter[str]:
    """Take the steps of a history in a folder, and return what happened in it.

    An error has the words that repeat it, and the names of the steps.
    """
    try:
        history.run(count)
    except BaseException as error:
        error.add_note(f"{repeated_by}: {', '.join(history.steps)}")
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return history.seen


class LogHistory:
    """The logs of a history, and what happens to them."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.seen: Counter[str] = Counter()
        self.time = self._serial = 0
        self._ids = iter(range(1, 1_000))
        self._producers = iter(range(1, 1_000))
        self.logs = {partition(*each): self._new_log(*each) for each in PARTITIONS}
        for topic in TOPICS:
            self._remake(topic)

    def log_steps(self) -> list[NamedStep]:
        return [
            *[("append", self._append)] * 3,
            ("transaction", self._transaction),
            *[("replicate", self._replicate)] * 2,
            ("retention", self._retention),
            ("compaction", self._compaction),
            ("failover", self._failover),
            ("unclean failover", partial(self._failover, is_clean=False)),
            ("topic made again", self._remake_some),
            ("partition unmounted", self._unmount),
        ]

    def some_log_step(self) -> None:
        """Append, replicate or compact: what a live broker does to the log of a running export."""
        name, step = self.chance.choice(
            [
                ("append", self._append),
                ("replicate", self._replicate),
                ("compaction", self._compaction),
            ]
        )
        self.seen[f"in the middle: {name}"] += 1
        step()

    def some_log(self) -> ModelLog:
        return self.chance.choice(list(self.logs.values()))

    def _append(self) -> None:
        log = self.some_log()
        for _ in range(self.chance.randint(1, 2)):
            log.append(self.chance, self.next_serial())
        if self.chance.random() < 0.7:
            log.replicate(log.end)

    def _transaction(self) -> None:
        log = self.some_log()
        if log.open_producer is None:
            log.begin_transaction(self.chance, self.next_serial(), producer=next(self._producers))
        if self.chance.random() < 0.7:
            log.end_transaction(is_commit=self.chance.random() < 0.5)
        ends = [batch.end for batch in log.batches if batch.end >= log.high_watermark]
        if ends:
            log.replicate(self.chance.choice(ends[-3:]))

    def _replicate(self) -> None:
        log = self.some_log()
        ends = [batch.end for batch in log.batches if batch.end > log.high_watermark]
        if ends:
            log.replicate(self.chance.choice(ends))

    def _retention(self) -> None:
        log = self.some_log()
        log.delete_up_to(self.chance.randint(log.start, max(log.start, log.stable_end())))

    def _compaction(self) -> None:
        log = self.some_log()
        if log.batches:
            log.compact(self.chance)

    def _failover(self, *, is_clean: bool = True) -> None:
        log = self.some_log()
        ends = [log.start, *(batch.end for batch in log.batches)]
        at = self.chance.choice([end for end in ends if end >= log.high_watermark * is_clean])
        log.fail_over(max(at, log.start), time=self.time)
        if self.chance.random() < 0.8:
            for _ in range(self.chance.randint(1, 4)):
                log.append(self.chance, self.next_serial())
            log.replicate(log.end)

    def _remake_some(self) -> None:
        if self.chance.random() < 0.5:
            self._remake(self.chance.choice(TOPICS))

    def _remake(self, topic: str) -> None:
        topic_id = Uuid(next(self._ids).to_bytes(16, "big"))
        for each in self.logs:
            if each.topic == topic:
                self.logs[each] = ModelLog(each, topic_id)
                for _ in range(self.chance.randint(0, 6)):
                    self.logs[each].append(self.chance, self.next_serial())
                self.logs[each].replicate(self.logs[each].end)

    def _unmount(self) -> None:
        log = self.logs[partition("a", 1)]
        log.is_mounted = not log.is_mounted

    def _new_log(self, topic: str, number: int) -> ModelLog:
        return ModelLog(partition(topic, number), Uuid(bytes(16)))

    def next_serial(self) -> str:
        self._serial += 1
        return str(self._serial)
