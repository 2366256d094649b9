"""Offsets and numbers of the records with given keys; all transactions are included."""

from collections.abc import Collection
from typing import Final

from cordwood.records.decoder import Decoder
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.workbench.partition_columns import ColumnsRequest, read_partition

_COLUMNS: Final = ("offset", "key")


def find_key_offsets(
    reader: PartitionReader, keys: Collection[bytes], *, start: int, decoder: Decoder
) -> tuple[int, ...]:
    """Return the offsets of the records with one of the keys, from `start` on."""
    import pyarrow as pa  # noqa: PLC0415  # 0.2 s
    from pyarrow import compute  # noqa: PLC0415  # as above

    values = pa.array(keys, pa.binary())
    found: list[int] = []
    for rows in read_partition(
        reader, ColumnsRequest(columns=_COLUMNS, start=start), decoder=decoder
    ):
        is_match = compute.is_in(rows["key"], value_set=values)
        found += rows["offset"].filter(is_match).to_pylist()
    return tuple(found)


def count_key_records(
    reader: PartitionReader, keys: Collection[bytes], *, end: int, decoder: Decoder
) -> dict[bytes, int]:
    """Return the number of records below `end` for each key."""
    import pyarrow as pa  # noqa: PLC0415  # 0.2 s
    from pyarrow import compute  # noqa: PLC0415  # as above

    values, found = pa.array(keys, pa.binary()), dict.fromkeys(keys, 0)
    for rows in read_partition(reader, ColumnsRequest(columns=_COLUMNS, end=end), decoder=decoder):
        matching = rows["key"].filter(compute.is_in(rows["key"], value_set=values))
        for each in compute.value_counts(matching).to_pylist():
            found[each["values"]] += each["counts"]
    return found
