"""Random history of a log: which producer wrote which batch, and how each transaction ended."""

import random
from collections import Counter

from cordwood.records.compression import Codec
from tests.adversary.batch_bytes import BatchFacts, RecordContent, v2_batch
from tests.adversary.planned_batch import START_MS, STATES, PlannedBatch

OLD_CODECS = (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
KINDS = ("plain", "idempotent", "transactional", "transactional", "transactional")
_FIRST_IDS = {"plain": 0, "idempotent": 100, "transactional": 200}


class LogHistory:
    """The batches of a log, written one after the other; `features` are words for what it has."""

    def __init__(self, chance: random.Random, *, is_plain: bool = False) -> None:
        """Begin a log; a plain one has neither producers nor headers."""
        self._chance = chance
        self._is_plain = is_plain
        self._offset = chance.choice((0, 0, 0, 1000, 1 << 33))
        self._epoch = 0
        self._clock = START_MS
        self._plan: list[PlannedBatch] = []
        self._sequences: Counter[int] = Counter()
        self._open: dict[int, list[PlannedBatch]] = {}
        kinds = KINDS if chance.random() < 0.7 else KINDS[:2]
        self._kinds: tuple[str, ...] = KINDS[:1] if is_plain else kinds
        self._producers = range(chance.randint(1, 3))
        self.features: set[str] = set()

    def written(self) -> list[PlannedBatch]:
        """Return all batches."""
        chance = self._chance
        for magic in chance.choice(((), (), (), (0,), (1,), (0, 1), (1, 0, 1))):
            for _ in range(chance.randint(1, 3)):
                self._add_old(magic)
        for _ in range(chance.randint(3, 22)):
            if chance.random() < 0.06:
                self._epoch += chance.randint(1, 3)
                self.features.add("epochs")
            if self._open and chance.random() < 0.35:
                self._end(chance.choice(sorted(self._open)))
            else:
                self._add_data()
        for producer in sorted(self._open):
            if chance.random() < 0.7:
                self._end(producer)
        for batches in self._open.values():
            self.features.add("open")
            for each in batches:
                each.state = "open"
        return self._plan

    def _add_old(self, magic: int) -> None:
        codec = self._chance.choice(OLD_CODECS)
        self._add_feature(magic, codec)
        records = self._records(magic)
        for each in [records] if codec else [(one,) for one in records]:
            offsets = each[0].offset, each[-1].offset
            times = each[0].timestamp, max(one.timestamp for one in each)
            self._plan.append(PlannedBatch(magic, codec, each, *offsets, -1, times))

    def _add_data(self) -> None:
        chance = self._chance
        codec = chance.choice((*(Codec.NONE,) * 5, *Codec))
        self._add_feature(2, codec)
        kind = chance.choice(self._kinds)
        producer = chance.choice(self._producers) + _FIRST_IDS[kind]
        records = self._records(2)
        offsets = records[0].offset, records[-1].offset
        times = records[0].timestamp, records[-1].timestamp
        batch = PlannedBatch(2, codec, records, *offsets, self._epoch, times)
        self._plan.append(batch)
        if kind == "plain":
            return
        batch.producer = (producer, 0, self._sequences[producer])
        self._sequences[producer] += len(records)
        if kind == "idempotent":
            self.features.add("idempotent")
            return
        batch.is_transactional = True
        if self._open.keys() - {producer}:
            self.features.add("overlapping transactions")
        self._open.setdefault(producer, []).append(batch)

    def _end(self, producer: int) -> None:
        """Write the marker of an open transaction."""
        kind = self._chance.choice(("commit", "abort"))
        marker = PlannedBatch(
            2, Codec.NONE, (), self._offset, self._offset, self._epoch, (self._clock, self._clock)
        )
        self._offset += 1
        marker.kind, marker.state = kind, STATES[kind]
        marker.producer, marker.is_transactional = (producer, 0, -1), True
        marker.ends = self._open.pop(producer)
        for each in marker.ends:
            each.state = marker.state
        self.features.add(marker.state)
        self._plan.append(marker)

    def _records(self, magic: int) -> tuple[RecordContent, ...]:
        chance, found = self._chance, []
        for _ in range(chance.choice((1, 1, 2, 3, 5, 8))):
            self._clock += chance.randint(0, 9)
            has_headers = magic == 2 and chance.random() < 0.2 and not self._is_plain
            found.append(
                RecordContent(
                    self._offset,
                    self._clock if magic else -1,
                    b"key-%d" % chance.randrange(6),
                    self._value(),
                    (("h", b"1"), ("n", None)) if has_headers else (),
                )
            )
            self._offset += 1
        return tuple(found)

    def _value(self) -> bytes | None:
        chance = self._chance
        kind = chance.random()
        if kind < 0.06:
            return None
        if kind < 0.1:
            self.features.add("batch in a value")
            return batches_in_a_value(chance, self._offset)
        if kind < 0.13:
            return bytes((chance.choice((0, 1, 255)),)) * chance.randint(1, 200)
        return bytes(chance.choices(b"abcdefgh", k=chance.randint(0, 60)))

    def _add_feature(self, magic: int, codec: Codec) -> None:
        self.features |= {f"v{magic}", f"v{magic} {codec.name.lower()}"}


def batches_in_a_value(chance: random.Random, offset: int) -> bytes:
    """Return whole batches of another partition, as a dump or a dead letter has them."""
    out, at = b"", max(0, offset + chance.choice((-50, -1, 0, 1, 2, 7, 1000)))
    for _ in range(chance.randint(1, 3)):
        count = chance.randint(1, 3)
        records = tuple(
            RecordContent(at + each, START_MS, b"inner", b"inner") for each in range(count)
        )
        out += v2_batch(BatchFacts(at, at + count - 1), records, (START_MS, START_MS)).data
        at += count
    return out
