"""Where keys stand in a log: every record of theirs, be it aborted or undecided."""

from collections.abc import Collection
from typing import Final

from cordwood.records.chunk import Decoder
from cordwood.storage.reader import PartitionReader
from cordwood.workbench.columns import ColumnsWanted, read_partition

_COLUMNS: Final = ("offset", "key")


def offsets_of_keys(
    reader: PartitionReader, keys: Collection[bytes], *, start: int, decoder: Decoder
) -> tuple[int, ...]:
    """Return the offsets from `start` on of records that have one of these keys."""
    import pyarrow as pa  # noqa: PLC0415  # 0.2 s
    from pyarrow import compute  # noqa: PLC0415  # as above

    wanted = pa.array(keys, pa.binary())
    found: list[int] = []
    for rows in read_partition(
        reader, ColumnsWanted(columns=_COLUMNS, start=start), decoder=decoder
    ):
        is_wanted = compute.is_in(rows["key"], value_set=wanted)
        found += rows["offset"].filter(is_wanted).to_pylist()
    return tuple(found)
