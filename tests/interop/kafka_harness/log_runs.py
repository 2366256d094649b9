"""Random lives of a log, step by step: appends of all kinds, rolls, truncations, stops and crashes.

The same seed produces the same life for logs with the same answers. A step is a question as
`kafka_logs` and `our_logs` take it; its answer decides the possible next steps.
"""

import random
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, control_batch
from tests.interop.kafka_harness.kafka_logs import Answer
from tests.interop.kafka_harness.spec import Json

Step = tuple[str, dict[str, Json]]

START_MS: Final = 1_700_000_000_000
WEIGHTS: Final = {
    "append": 40,
    "produce": 30,
    "end": 12,
    "follow": 10,
    "see": 8,
    "roll": 2,
    "flush": 2,
    "delete_records": 2,
    "delete_old": 2,
    "truncate": 3,
    "truncate_fully": 1,
    "reopen": 2,
    "crash": 2,
}


@dataclass(slots=True)
class _Producer:
    epoch: int = 0
    sequence: int = 0
    is_open: bool = False


class Life:
    """One log's life from its first opening on; its settings have Kafka's names."""

    #: How often each kind of step comes.
    weights: ClassVar[Mapping[str, int]] = WEIGHTS
    #: How many coordinators end transactions; the older ones are refused.
    coordinators: ClassVar[int] = 2
    #: How many of the transactions are committed.
    committed: float = 0.5

    def __init__(
        self, seed: int, config: dict[str, str], *, without: frozenset[str] = frozenset()
    ) -> None:
        self.seed = seed
        self._weights = {kind: each for kind, each in self.weights.items() if kind not in without}
        self.config = config
        self._chance = random.Random(seed)
        self._now_ms = START_MS
        self._epoch = 0
        self._bounds = Answer(0, -1, -1, 0, 0, 0, 0)
        self._producers: dict[int, _Producer] = {}
        self._recovery_point = 0
        self._last: Step | None = None
        self._waiting: list[Step] = [self._open(is_clean=True)]

    def next_step(self) -> Step:
        """Return the next question."""
        if not self._waiting:
            self._now_ms += self._chance.randrange(1500)
            (kind,) = self._chance.choices(list(self._weights), list(self._weights.values()))
            self._waiting += getattr(self, f"_{kind}")()
        asked, question = self._waiting.pop(0)
        return asked, {**question, "now_ms": self._now_ms}

    def last_step(self) -> Step:
        """The end: the log is closed."""
        return "close", {"now_ms": self._now_ms}

    def learn(self, asked: str, answer: Answer) -> None:
        """Process the answer."""
        if asked == "flush":
            self._recovery_point = answer.log_end
        if asked in {"truncate", "truncate_fully", "open"}:
            self._forget_producers()
        self._bounds = answer
        recovery_point = max(self._recovery_point, answer.log_start)
        self._recovery_point = min(recovery_point, answer.log_end)

    # -- opening and closing

    def _open(self, *, is_clean: bool) -> Step:
        bounds = self._bounds
        question: dict[str, Json] = {
            "config": dict(self.config),
            "is_clean": is_clean,
            "log_start": bounds.log_start,
            "high_watermark": bounds.high_watermark,
            "recovery_point": bounds.log_end if is_clean else self._recovery_point,
        }
        return "open", question

    def _reopen(self) -> list[Step]:
        return [("close", {}), self._open(is_clean=True)]

    def _crash(self) -> list[Step]:
        return [("abandon", {}), self._open(is_clean=False)]

    def _forget_producers(self) -> None:
        """Use new epochs, since the log's producer state is uncertain now."""
        for producer in self._producers.values():
            producer.epoch += 1
            producer.sequence = 0
            producer.is_open = False

    # -- appending

    def _append(self) -> list[Step]:
        if self._chance.random() < 0.1:
            self._epoch += 1
        return [self._lead(self._batch(BatchFields()))]

    def _produce(self) -> list[Step]:
        """An idempotent or transactional producer's batch, now and then one sent again."""
        chance = self._chance
        if self._last is not None and chance.random() < 0.1:
            return [self._last]
        producer_id = chance.randrange(1, 6)
        producer = self._producers.setdefault(producer_id, _Producer())
        count = chance.randrange(1, 6)
        is_transactional = producer_id > 2
        producer.is_open = producer.is_open or is_transactional
        fields = BatchFields(
            producer_id=producer_id,
            producer_epoch=producer.epoch,
            base_sequence=producer.sequence + (chance.random() < 0.03),
            is_transactional=is_transactional,
        )
        producer.sequence += count
        self._last = self._lead(self._batch(fields, count))
        return [self._last]

    def _end(self) -> list[Step]:
        """The end of a transaction; now and then of one that has not begun."""
        chance = self._chance
        opened = [each for each, producer in self._producers.items() if producer.is_open]
        if not opened:
            opened = [4]
        producer_id = chance.choice(opened)
        producer = self._producers.setdefault(producer_id, _Producer())
        producer.is_open = False
        if chance.random() < 0.3:
            producer.epoch += 1
            producer.sequence = 0
        fields = BatchFields(producer_id=producer_id, producer_epoch=producer.epoch)
        is_commit = chance.random() < self.committed
        end = EndTransaction(is_commit, coordinator_epoch=chance.randrange(self.coordinators))
        return [self._lead(control_batch(end, fields, timestamp=self._now_ms), "COORDINATOR")]

    def _follow(self) -> list[Step]:
        """Several batches at once, with gaps between them as compaction leaves them."""
        chance = self._chance
        offset = self._bounds.log_end
        data = bytearray()
        for _ in range(chance.randrange(1, 8)):
            offset += chance.choice((0, 0, 0, 1, 7))
            fields = BatchFields(base_offset=offset, partition_leader_epoch=self._epoch)
            count = chance.randrange(1, 5)
            data += self._batch(fields, count)
            offset += count
        return [("follow", {"bytes": b64encode(data).decode(), "epoch": self._epoch})]

    def _lead(self, data: bytearray, origin: str = "CLIENT") -> Step:
        question: dict[str, Json] = {"bytes": b64encode(data).decode(), "epoch": self._epoch}
        return "lead", {**question, "origin": origin, "transactions": self._chance.choice((1, 2))}

    def _batch(self, fields: BatchFields, count: int | None = None) -> bytearray:
        chance = self._chance
        codec = chance.choice((Codec.NONE, Codec.NONE, Codec.LZ4, Codec.ZSTD))
        builder = BatchBuilder(fields._replace(codec=codec))
        back_ms = chance.choice((0, 0, 0, 2000, 100_000))
        for _ in range(count or chance.randrange(1, 6)):
            is_timeless = back_ms == 2000 and fields.producer_id < 0
            timestamp = -1 if is_timeless else self._now_ms - back_ms + chance.randrange(50)
            value = chance.randbytes(chance.choice((0, 20, 90, 300)))
            builder.append(chance.choice((None, b"key")), value, timestamp=timestamp)
        return builder.build()

    # -- the rest

    def _see(self) -> list[Step]:
        bounds = self._bounds
        offset = self._chance.randint(bounds.high_watermark, bounds.log_end)
        return [("see", {"offset": offset})]

    def _roll(self) -> list[Step]:
        return [("roll", {})]

    def _flush(self) -> list[Step]:
        return [("flush", {})]

    def _delete_records(self) -> list[Step]:
        bounds = self._bounds
        offset = self._chance.randint(bounds.log_start, bounds.high_watermark)
        return [("delete_records", {"offset": offset})]

    def _delete_old(self) -> list[Step]:
        return [("delete_old", {})]

    def _truncate(self) -> list[Step]:
        bounds = self._bounds
        lowest = max(bounds.log_start, bounds.log_end - 40)
        return [("truncate", {"offset": self._chance.randint(lowest, bounds.log_end)})]

    def _truncate_fully(self) -> list[Step]:
        offset = self._bounds.log_end + self._chance.randrange(-20, 20)
        return [("truncate_fully", {"offset": max(0, offset)})]
