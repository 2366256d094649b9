"""Lookup of topic settings without a broker; earlier sources override later ones.

    given      the caller: --config
    topic      the topic's settings in the metadata of the log directory, if there are any
    broker     the dynamic settings of this broker, then of all brokers, in the same metadata
    file       server.properties of a broker, if it is given
    default    Kafka's default

Each value is returned with the name of its source.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.errors import DamagedFileError
from cordwood.core.metadata_paths import ALL_BROKERS, BROKER, TOPIC
from cordwood.core.ports import Files
from cordwood.core.properties import parse_properties
from cordwood.core.settings import ResolvedSetting, SettingSource
from cordwood.storage.checkpoints.meta_properties import read_meta_properties
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.log_config import LogConfig
from cordwood.storage.metadata.metadata_lookup import DirectoryMetadata, find_metadata
from cordwood.storage.topic_settings import TOPIC_SETTINGS, broker_source, config_from

GIVEN: Final = "--config"


class CleanupPolicy(NamedTuple):
    """Whether a topic is compacted, and the source of that; None if it is unknown."""

    is_compacted: bool | None = None
    source: str = ""


class FoundSettings(NamedTuple):
    """The settings of a topic, each with its source, and the sources that were searched, in order.

    If the metadata do not contain the topic, a default does not mean that the topic has it.
    """

    config: LogConfig
    resolved: Mapping[str, ResolvedSetting]
    sources: tuple[str, ...]
    is_topic_known: bool = False

    @property
    def cleanup(self) -> CleanupPolicy:
        """Return whether the topic is compacted, if a reliable source contains that."""
        source = self.resolved["cleanup.policy"].source
        if source != GIVEN and not self.is_topic_known:
            return CleanupPolicy()
        return CleanupPolicy(self.config.is_compacted, source)


class SettingsFinder:
    """Lookup of topic settings; the metadata of a log directory are read once."""

    def __init__(
        self,
        files: Files,
        *,
        given: Mapping[str, str] | None = None,
        broker_config: str | None = None,
    ) -> None:
        """Raise SettingError for a given setting that is unknown or has an invalid value."""
        TOPIC_SETTINGS.refuse_unknown(given or {})
        self._files = files
        self._given = [SettingSource(GIVEN, MappingProxyType(dict(given)))] if given else []
        TOPIC_SETTINGS.resolve(self._given)
        self._broker_config = broker_config
        self._metadata: dict[str, DirectoryMetadata | DamagedFileError | None] = {}

    def find(self, log_directory: str, topic: str | None) -> FoundSettings:
        """Return the settings of a topic; without `topic`, of a log whose topic is unknown.

        DamagedFileError if the metadata cannot be read; SettingError if they or the broker's file
        contain an invalid value.
        """
        sources, is_known = [*self._given], False
        metadata = None if topic is None else self._read_metadata(log_directory)
        if metadata is not None and topic is not None:
            sources += self._metadata_sources(log_directory, topic=topic, metadata=metadata)
            is_known = metadata.has_topic(topic)
        if self._broker_config is not None:
            texts = parse_properties(read_whole(self._files, self._broker_config))
            sources.append(broker_source(self._broker_config, texts))
        resolved = TOPIC_SETTINGS.resolve(sources)
        names = tuple(each.name for each in sources)
        return FoundSettings(config_from(resolved), resolved, names, is_topic_known=is_known)

    # -- inside

    def _read_metadata(self, log_directory: str) -> DirectoryMetadata | None:
        if log_directory not in self._metadata:
            try:
                self._metadata[log_directory] = find_metadata(self._files, log_directory)
            except DamagedFileError as error:
                self._metadata[log_directory] = error
        found = self._metadata[log_directory]
        if isinstance(found, DamagedFileError):
            raise found
        return found

    def _metadata_sources(
        self, log_directory: str, *, topic: str, metadata: DirectoryMetadata
    ) -> list[SettingSource]:
        """Return the metadata's settings of the topic, of this broker, and of all brokers."""
        path = metadata.path
        sources = [SettingSource(f"{path}, topic {topic}", metadata.config_of(TOPIC, topic))]
        meta = read_meta_properties(self._files, log_directory)
        brokers = [] if meta is None or meta.node_id is None else [str(meta.node_id)]
        for broker in (*brokers, ALL_BROKERS):
            texts = metadata.config_of(BROKER, broker)
            sources.append(broker_source(f"{path}, {broker or 'all brokers'}", texts))
        return sources
