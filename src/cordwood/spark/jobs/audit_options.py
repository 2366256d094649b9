"""What an audit is told, by name, read into one value: options of its own, and of the source.

    of                the table's folder; of Iceberg the warehouse
    format            parquet, delta or iceberg
    table, catalog.*  of Iceberg, as of an export
    topicColumn, partitionColumn, offsetColumn
                      what the table calls them; a name with dots goes into structs
    topicName         the topic of all rows, of a table that has no column for it

All others are the source's: they say which log it is, and from where to where the table is to have
it. A table that an export has made says that itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cordwood.core.errors import SettingError
from cordwood.spark.jobs.audit_pieces import Columns
from cordwood.spark.jobs.export_options import source_of, take_address
from cordwood.spark.jobs.export_tables import TableAddress
from cordwood.spark.options import SourceOptions

OF: Final = "of"
_COLUMNS: Final = ("topicColumn", "partitionColumn", "offsetColumn", "topicName")
_OWN: Final = ("format", "table", *_COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOrder:
    """Which table is held against which log."""

    source: SourceOptions
    address: TableAddress
    columns: Columns


def parse_audit(given: Mapping[str, str]) -> AuditOrder:
    """Return the value of an audit's options; SettingError names what cannot be used."""
    texts = {name.lower(): text for name, text in given.items()}
    own = {name: texts.pop(name.lower(), "") for name in _OWN}
    address = take_address(texts, OF, own=own)
    if own["topicName"] and own["topicColumn"]:
        raise SettingError(
            "topicName and topicColumn contradict each other",
            key="topicName",
            remedy="keep one of them",
        )
    topic, partition, offset, only_topic = (own[name] or None for name in _COLUMNS)
    return AuditOrder(
        source=source_of(texts, (OF, *_OWN)),
        address=address,
        columns=Columns(topic or "topic", partition or "partition", offset or "offset", only_topic),
    )
