"""Where a topic's settings come from, when there is only a log directory to ask.

    given      by whoever asks: --config
    topic      Kafka's metadata in the log directory, if it is there: what the topic says
    broker     the same: what all brokers, and this one, were told while they ran
    file       a broker's server.properties, if it is given
    default    Kafka's

The first that says a name counts. Kafka's metadata are a snapshot and the log behind it; of the log
all is believed that is there.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError, BytesError, DamagedFileError
from cordwood.core.ports import Files, Kind
from cordwood.core.properties import parse_properties
from cordwood.core.settings import Resolved, Source
from cordwood.records.batch import RecordBatch
from cordwood.records.stream import batches
from cordwood.storage.atomic import read_whole
from cordwood.storage.log_config import LogConfig
from cordwood.storage.meta_properties import read_meta_properties
from cordwood.storage.names import LOG, parse_segment_name
from cordwood.storage.topic_settings import TOPIC_SETTINGS, broker_source, config_from
from cordwood.workbench.metadata_records import ALL_BROKERS, BROKER, TOPIC, ClusterMetadata

METADATA_LOG: Final = "__cluster_metadata-0"
GIVEN: Final = "--config"

_CHECKPOINT = re.compile(r"([0-9]{20})-[0-9]{10}\.checkpoint")


class FoundSettings(NamedTuple):
    """The settings, each with the name of its source, and the sources that were asked, in order."""

    config: LogConfig
    resolved: Mapping[str, Resolved]
    sources: tuple[str, ...]


def find_settings(
    files: Files,
    log_directory: str,
    *,
    topic: str | None,
    given: Mapping[str, str],
    broker_config: str | None = None,
) -> FoundSettings:
    """Return the settings of a topic; SettingError for what is given and is none.

    DamagedFileError if Kafka's metadata are there and cannot be read.
    """
    TOPIC_SETTINGS.refuse_unknown(given)
    sources = [Source(GIVEN, MappingProxyType(dict(given)))] if given else []
    metadata = read_metadata(files, log_directory)
    if metadata is not None and topic is not None:
        sources += _metadata_sources(files, log_directory, topic=topic, metadata=metadata)
    if broker_config is not None:
        texts = parse_properties(read_whole(files, broker_config))
        sources.append(broker_source(broker_config, texts))
    resolved = TOPIC_SETTINGS.resolve(sources)
    return FoundSettings(config_from(resolved), resolved, tuple(each.name for each in sources))


def read_metadata(files: Files, log_directory: str) -> ClusterMetadata | None:
    """Return what Kafka's metadata in a log directory say, None where there are none."""
    path = f"{log_directory}/{METADATA_LOG}"
    try:
        listed = files.list(path, Kind.FILE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    snapshots = [found for found in map(_CHECKPOINT.fullmatch, listed) if found is not None]
    start = 0
    metadata = ClusterMetadata()
    if snapshots:
        newest = max(snapshots, key=lambda found: found[0])
        start = int(newest[1])
        _learn_file(files, f"{path}/{newest[0]}", metadata=metadata, start=0)
    for name in listed:
        parsed = parse_segment_name(name)
        if parsed is not None and parsed.extension == LOG and not parsed.suffix:
            _learn_file(files, f"{path}/{name}", metadata=metadata, start=start)
    return metadata


def _metadata_sources(
    files: Files, log_directory: str, *, topic: str, metadata: ClusterMetadata
) -> list[Source]:
    """Return what the metadata say of a topic, of this broker, and of all."""
    name = f"{log_directory}/{METADATA_LOG}"
    sources = [Source(f"{name}, topic {topic}", metadata.config_of(TOPIC, topic))]
    meta = read_meta_properties(files, log_directory)
    brokers = [] if meta is None or meta.node_id is None else [str(meta.node_id)]
    for broker in (*brokers, ALL_BROKERS):
        texts = metadata.config_of(BROKER, broker)
        sources.append(broker_source(f"{name}, {broker or 'all brokers'}", texts))
    return sources


def _learn_file(files: Files, path: str, *, metadata: ClusterMetadata, start: int) -> None:
    """Take the records of a file from an offset on."""
    try:
        for batch in batches(read_whole(files, path)):
            if isinstance(batch, RecordBatch) and not batch.is_control:
                metadata.learn_all(
                    record.value for record in batch.records() if record.offset >= start
                )
    except (BadRecordsError, BytesError) as error:
        raise DamagedFileError(
            f"Kafka's metadata cannot be read: {error}",
            path=path,
            remedy="say the topic's settings with --config, and move the directory aside",
        ) from error
