"""Kafka's map confuses keys with equal hashes; ours compares their bytes."""

import random

from cordwood.compaction.engine.engine import HASHES
from cordwood.compaction.engine.plain_key_map import PlainKeyMap
from cordwood.compaction.engine.record_marks import Marks
from tests.unit.compaction.compaction_samples import batch, chunk, marked
from tests.unit.compaction.skimpy_map import SkimpyMap

MEMORY = 1 << 20


def test_kafkas_map_has_the_slots_and_usable_keys_of_its_memory() -> None:
    twin = SkimpyMap(128 << 20)

    assert (twin.slots, twin.usable) == (5_592_405, 5_033_164)


def test_kafkas_map_returns_the_last_offset_of_a_key() -> None:
    twin, model, chance = SkimpyMap(48 * 500), dict[bytes, int](), random.Random(4)

    for offset in range(2000):
        key = b"%d" % chance.randrange(500)
        twin.put(key, offset)
        model[key] = offset

    assert {key: twin.get(key) for key in model} == model
    assert (twin.size, twin.get(b"absent")) == (len(model), -1)


def test_key_is_lost_to_a_collision_in_kafkas_map_and_retained_in_ours() -> None:
    """Two keys, a before b, with one hash: Kafka's cleaner drops a as superseded by b."""
    data = batch(0, "a1 b2")
    twin = SkimpyMap(MEMORY, lambda _: bytes(15) + b"\1")
    marks = Marks(2)
    ours = PlainKeyMap(marks, MEMORY, hash_of=lambda _key, _seed: 7)

    twin.put(b"a", 0)
    twin.put(b"b", 1)
    ours.begin_range(0)
    ours.learn(chunk(data), first_offset=0)

    assert [offset for key, offset in ((b"a", 0), (b"b", 1)) if offset >= twin.get(key)] == [1]
    assert ours.finish_range() == HASHES
    assert marked(marks) == "oo"
