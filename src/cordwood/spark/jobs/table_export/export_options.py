"""Options of an export, and of its source, parsed into one value.

    to            the table's folder; for Iceberg the warehouse
    format        parquet, delta or iceberg
    table         for Iceberg: <namespace>.<name>
    catalog.*     for Iceberg: properties of the catalog, by default an SQLite file in the warehouse
    partitionBy   columns, separated by commas: topic, partition, date, hour
    fileBytes     approximate size of a file; a task reads as many bytes of the log
    commitBytes   most bytes of the log in one commit
    compression   compression of Parquet files
    gap           fail, or record: continue after offsets that retention deleted before the export

Other options are those of the source (`spark.source.source_options`). By default
`isolation.level` is read_committed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.spark.jobs.tables.export_table import ICEBERG, TableAddress, check_address
from cordwood.spark.source import source_columns
from cordwood.spark.source.local_paths import parse_local_options
from cordwood.spark.source.source_options import NAMES, SourceOptions

TO: Final = "to"
_OWN: Final = ("format", "table", "partitionBy", "fileBytes", "commitBytes", "compression", "gap")
_CATALOG: Final = "catalog."
_GAPS: Final = ("fail", "record")
_CODECS: Final = ("zstd", "snappy", "gzip", "lz4", "none")

#: Allowed partition columns of a table; the last two are derived from `timestamp`, in UTC.
PARTITION_COLUMNS: Final = ("topic", "partition", "date", "hour")

#: Columns that an audit needs, so each table must have them.
_NEEDED: Final = ("topic", "partition", "offset")

FILE_BYTES: Final = 128 << 20
COMMIT_BYTES: Final = 16 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions:
    """The parsed options of an export."""

    source: SourceOptions
    address: TableAddress
    columns: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    file_bytes: int = FILE_BYTES
    commit_bytes: int = COMMIT_BYTES
    codec: str = "zstd"
    may_lose: bool = False


def parse_export_options(given: Mapping[str, str]) -> ExportOptions:
    """Parse the options of an export; raise SettingError for an unusable option."""
    texts = {name.lower(): text for name, text in given.items()}
    own = {name: texts.pop(name.lower(), "") for name in _OWN}
    address = pop_address(texts, TO, own=own)
    source = parse_source(texts, (TO, *_OWN))
    file_bytes = _count(own, "fileBytes", FILE_BYTES)
    return ExportOptions(
        source=source if "splitbytes" in texts else replace(source, split_bytes=file_bytes),
        address=address,
        columns=_columns(source),
        partition_by=_partition_by(own["partitionBy"]),
        file_bytes=file_bytes,
        commit_bytes=_count(own, "commitBytes", COMMIT_BYTES),
        codec=_one_of(own, "compression", _CODECS),
        may_lose=_one_of(own, "gap", _GAPS) == "record",
    )


def pop_address(texts: dict[str, str], where: str, *, own: Mapping[str, str]) -> TableAddress:
    """Remove the table's options from the texts; `where` is the option with the path."""
    path = texts.pop(where, "")
    if not path:
        raise _wrong(where, f"{where} is not set", f"set {where} to the folder of the table")
    catalog = {name: texts.pop(name) for name in list(texts) if name.startswith(_CATALOG)}
    kind = own["format"] or "parquet"
    if catalog and kind != ICEBERG:
        raise _wrong(
            next(iter(catalog)),
            f"format={kind} has no catalog",
            "remove the option, or set format=iceberg",
        )
    address = TableAddress(
        path=path,
        format=kind,
        name=own["table"] or None,
        catalog={name.removeprefix(_CATALOG): text for name, text in catalog.items()},
    )
    check_address(address)
    return address


def parse_source(texts: dict[str, str], own: Iterable[str]) -> SourceOptions:
    """Parse the options of the source; suggest one of the job's own for a similar name."""
    names = {each.lower(): each for each in own}
    for name in texts.keys() - {each.lower() for each in NAMES}:
        near = get_close_matches(name, names, n=1)
        if near:
            raise _wrong(name, f"unknown option: {name}", f"did you mean {names[near[0]]}?")
    if not {"isolation.level", "kafka.isolation.level"} & texts.keys():
        texts["isolation.level"] = "read_committed"
    return parse_local_options(texts)


def _columns(source: SourceOptions) -> tuple[str, ...]:
    columns = source_columns.selected_columns(source)
    missing = [name for name in _NEEDED if name not in columns]
    if missing:
        raise _wrong(
            "columns",
            f"columns: {missing[0]} is missing, which an audit needs",
            f"add {', '.join(_NEEDED)} to the columns",
        )
    return columns


def _partition_by(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, map(str.strip, text.split(","))))
    for name in names:
        if name not in PARTITION_COLUMNS or names.count(name) > 1:
            raise _wrong(
                "partitionBy",
                f"partitionBy: invalid value {text}",
                f"choose from {', '.join(PARTITION_COLUMNS)}, each once",
            )
    return names


def _one_of(own: Mapping[str, str], name: str, choice: tuple[str, ...]) -> str:
    """Return the value of an option, by default the first choice."""
    value = own[name] or choice[0]
    if value not in choice:
        raise _wrong(name, f"{name}: unknown value {value!r}", f"use one of {', '.join(choice)}")
    return value


def _count(own: Mapping[str, str], name: str, default: int) -> int:
    text = own[name] or str(default)
    if not text.isdecimal() or not int(text):
        raise _wrong(name, f"{name}: invalid value {text!r}", "use a number of bytes, at least 1")
    return int(text)


def _wrong(key: str, problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key=key, remedy=remedy)
