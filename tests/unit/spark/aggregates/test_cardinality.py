"""Sketches of keys, and estimates of their number."""

import pyarrow as pa

from cordwood.compaction.engine.key_sketch import STANDARD_ERROR, add_keys
from cordwood.spark.aggregates.cardinality import estimate_cardinality, sketch_keys


def _batch(*keys: bytes | None) -> pa.RecordBatch:
    return pa.record_batch({"key": pa.array(keys, pa.binary())})


def test_keys_are_counted_once_and_nulls_never() -> None:
    sketch = sketch_keys([_batch(b"a", None, b""), _batch(b"a", b"b"), _batch(None)], add=add_keys)

    assert estimate_cardinality([sketch]) == (3, STANDARD_ERROR)


def test_keys_of_a_part_of_a_batch_are_its_own() -> None:
    part = _batch(b"a", b"b", b"c", b"d").slice(1, 2)

    assert sketch_keys([part], add=add_keys) == sketch_keys([_batch(b"b", b"c")], add=add_keys)


def test_sketches_of_all_tasks_count_together() -> None:
    sketches = [sketch_keys([_batch(*keys)], add=add_keys) for keys in ((b"a", b"b"), (b"b", b"c"))]

    assert estimate_cardinality(sketches).keys == 3
    assert estimate_cardinality([]).keys == 0
