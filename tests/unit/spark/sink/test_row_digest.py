"""The digest of rows depends on their contents and not on their order."""

import pyarrow as pa

from cordwood.records.kernels import encoder
from cordwood.records.record_encoder import PlainEncoder
from cordwood.spark.sink.row_digest import digest_of
from cordwood.spark.sink.sink_columns import record_columns

ROWS = [(b"a", b"1"), (None, b"2"), (b"", None), (b"a", b""), (b"c", b"x" * 100)]


def digest(rows: list[tuple[bytes | None, bytes | None]], topic: str = "t") -> int:
    keys, values = zip(*rows, strict=True)
    batch = pa.record_batch(
        {"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())}
    )
    return digest_of(topic, record_columns(batch, now_ms=0), encoder=PlainEncoder())


def test_order_of_rows_does_not_count() -> None:
    assert digest(ROWS) == digest(ROWS[::-1])


def test_digest_is_the_sum_of_its_parts() -> None:
    whole = digest(ROWS[:2]) + digest(ROWS[2:])

    assert digest(ROWS) == whole & (1 << 63) - 1


def test_every_field_counts() -> None:
    others: list[list[tuple[bytes | None, bytes | None]]] = [
        [(b"b", b"1")],
        [(b"a", b"2")],
        [(None, b"1")],
        [(b"", b"1")],
        [(b"a", None)],
        [(b"1", b"a")],
        [(b"a", b"1")] * 2,
    ]

    found = {digest(each) for each in others} | {digest([(b"a", b"1")], "u")}
    assert len(found) == 8
    assert digest([(b"a", b"1")]) not in found


def test_kernel_gives_the_same_digest() -> None:
    batch = pa.record_batch({"value": pa.array([each for _, each in ROWS], pa.binary())})
    columns = record_columns(batch, now_ms=0)

    assert digest_of("t", columns, encoder=encoder()) == digest_of(
        "t", columns, encoder=PlainEncoder()
    )


def test_batch_without_rows_has_no_digest() -> None:
    empty = pa.record_batch({"value": pa.array([], pa.binary())})

    assert digest_of("t", record_columns(empty, now_ms=0), encoder=PlainEncoder()) == 0
