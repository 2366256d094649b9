"""What an export is told, by name, read into one value: options of its own, and of the source.

    to            the table's folder; of Iceberg the warehouse
    format        parquet, delta or iceberg
    table         of Iceberg: <namespace>.<name>
    catalog.*     of Iceberg: properties of the catalog, in place of an SQLite file in the warehouse
    partitionBy   columns with commas between: topic, partition, date, hour
    fileBytes     how large a file is to be, about; a task reads as much of the log
    commitBytes   how much of the log goes into one commit, at most
    compression   Parquet's
    gap           fail, or record what retention took before it was exported, and go on

All others are the source's (`spark.options`). Where they do not say else, what is exported is
what read_committed reads.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.spark import rows
from cordwood.spark.jobs.export_tables import ICEBERG, TableAddress, check_address
from cordwood.spark.options import NAMES, SourceOptions, parse_options

TO: Final = "to"
_OWN: Final = ("format", "table", "partitionBy", "fileBytes", "commitBytes", "compression", "gap")
_CATALOG: Final = "catalog."
_GAPS: Final = ("fail", "record")
_CODECS: Final = ("zstd", "snappy", "gzip", "lz4", "none")

#: What a table may be partitioned by; the last two are made of `timestamp`, in UTC.
PARTITION_COLUMNS: Final = ("topic", "partition", "date", "hour")

#: What an audit needs, so every table has it.
_NEEDED: Final = ("topic", "partition", "offset")

FILE_BYTES: Final = 128 << 20
COMMIT_BYTES: Final = 16 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOrder:
    """What goes where, and how."""

    source: SourceOptions
    address: TableAddress
    columns: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    file_bytes: int = FILE_BYTES
    commit_bytes: int = COMMIT_BYTES
    codec: str = "zstd"
    may_lose: bool = False


def parse_export(given: Mapping[str, str]) -> ExportOrder:
    """Return the value of an export's options; SettingError names what cannot be used."""
    texts = {name.lower(): text for name, text in given.items()}
    own = {name: texts.pop(name.lower(), "") for name in _OWN}
    address = take_address(texts, TO, own=own)
    source = source_of(texts, (TO, *_OWN))
    file_bytes = _count(own, "fileBytes", FILE_BYTES)
    return ExportOrder(
        source=source if "splitbytes" in texts else replace(source, split_bytes=file_bytes),
        address=address,
        columns=_columns(source),
        partition_by=_partition_by(own["partitionBy"]),
        file_bytes=file_bytes,
        commit_bytes=_count(own, "commitBytes", COMMIT_BYTES),
        codec=_one_of(own, "compression", _CODECS),
        may_lose=_one_of(own, "gap", _GAPS) == "record",
    )


def take_address(texts: dict[str, str], where: str, *, own: Mapping[str, str]) -> TableAddress:
    """Take what is said of a table out of the texts; its path is the option `where`."""
    path = texts.pop(where, "")
    if not path:
        raise _wrong(where, "nothing is said of where the table is", f"give {where}=<folder>")
    catalog = {name: texts.pop(name) for name in list(texts) if name.startswith(_CATALOG)}
    kind = own["format"] or "parquet"
    if catalog and kind != ICEBERG:
        raise _wrong(next(iter(catalog)), f"{kind} has no catalog", "leave it out, or use iceberg")
    address = TableAddress(
        path=path,
        format=kind,
        name=own["table"] or None,
        catalog={name.removeprefix(_CATALOG): text for name, text in catalog.items()},
    )
    check_address(address)
    return address


def source_of(texts: dict[str, str], own: Iterable[str]) -> SourceOptions:
    """Return the options of the source; what is near one of the job's own is told of that."""
    names = {each.lower(): each for each in own}
    for name in texts.keys() - {each.lower() for each in NAMES}:
        near = get_close_matches(name, names, n=1)
        if near:
            raise _wrong(name, f"option {name} is unknown", f"did you mean {names[near[0]]}?")
    if not {"isolation.level", "kafka.isolation.level"} & texts.keys():
        texts["isolation.level"] = "read_committed"
    return parse_options(texts)


def _columns(source: SourceOptions) -> tuple[str, ...]:
    columns = rows.columns_of(source)
    lacking = [name for name in _NEEDED if name not in columns]
    if lacking:
        raise _wrong(
            "columns",
            f"a table without {lacking[0]} cannot be audited",
            f"name {', '.join(_NEEDED)} among the columns",
        )
    return columns


def _partition_by(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, map(str.strip, text.split(","))))
    for name in names:
        if name not in PARTITION_COLUMNS or names.count(name) > 1:
            raise _wrong(
                "partitionBy",
                f"a table cannot be partitioned by {text}",
                f"choose from {', '.join(PARTITION_COLUMNS)}, each once",
            )
    return names


def _one_of(own: Mapping[str, str], name: str, choice: tuple[str, ...]) -> str:
    """Return what is said, or the first of the choice."""
    value = own[name] or choice[0]
    if value not in choice:
        raise _wrong(name, f"{name} = {value!r} is not known", f"use one of {', '.join(choice)}")
    return value


def _count(own: Mapping[str, str], name: str, default: int) -> int:
    text = own[name] or str(default)
    if not text.isdecimal() or not int(text):
        raise _wrong(name, f"{name} has {text!r}", "use a whole number of bytes, at least 1")
    return int(text)


def _wrong(key: str, problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key=key, remedy=remedy)
