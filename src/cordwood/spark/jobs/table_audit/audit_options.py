"""Options of an audit, and of its source, parsed into one value.

    of                the table's folder; for Iceberg the warehouse
    format            parquet, delta or iceberg
    table, catalog.*  for Iceberg, as for an export
    topicColumn, partitionColumn, offsetColumn
                      names of these columns in the table; dots select fields of structs
    topicName         the topic of all rows, for a table without such a column
    deep              true: compare keys, values, headers and timestamps too

The options of an export about its files are accepted and not used, so that one set of
options serves both.

Other options are those of the source: the log, and the range that the table must have. The commits
of an export contain this range themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.spark.jobs.table_export.export_options import parse_source, pop_address
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.table_pieces import AuditColumns
from cordwood.spark.source.source_options import SourceOptions

OF: Final = "of"
_COLUMNS: Final = ("topicColumn", "partitionColumn", "offsetColumn", "topicName")
_EXPORT_ONLY: Final = ("partitionBy", "fileBytes", "commitBytes", "compression", "gap")
_OWN: Final = ("format", "table", "deep", *_COLUMNS)
_DEEP: Final = {"": False, "false": False, "true": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """The parsed options of an audit."""

    source: SourceOptions
    address: TableAddress
    columns: AuditColumns
    is_deep: bool = False


def parse_audit_options(given: Mapping[str, str]) -> AuditOptions:
    """Parse the options of an audit; raise SettingError for an unusable option."""
    texts = {name.lower(): text for name, text in given.items()}
    own = {name: texts.pop(name.lower(), "") for name in (*_OWN, *_EXPORT_ONLY)}
    address = pop_address(texts, OF, own=own)
    if own["topicName"] and own["topicColumn"]:
        raise SettingError(
            "topicName and topicColumn are mutually exclusive",
            key="topicName",
            remedy="keep one of them",
        )
    if own["deep"].lower() not in _DEEP:
        raise SettingError(
            f"deep: invalid value {own['deep']!r}", key="deep", remedy="use true or false"
        )
    topic, partition, offset, only_topic = (own[name] or None for name in _COLUMNS)
    return AuditOptions(
        source=parse_source(texts, (OF, *_OWN)),
        address=address,
        columns=AuditColumns(
            topic or "topic", partition or "partition", offset or "offset", only_topic
        ),
        is_deep=_DEEP[own["deep"].lower()],
    )
