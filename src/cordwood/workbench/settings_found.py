"""Where a topic's settings come from, when there is only a log directory to ask.

    given      by whoever asks: --config
    topic      the metadata in the log directory, if they are there: what the topic says
    broker     the same: what this broker, and all of them, were told while they ran
    file       a broker's server.properties, if it is given
    default    Kafka's

The first that says a name counts.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from cordwood.core.errors import DamagedFileError
from cordwood.core.metadata_nodes import ALL_BROKERS, BROKER, TOPIC
from cordwood.core.ports import Files
from cordwood.core.properties import parse_properties
from cordwood.core.settings import Resolved, Source
from cordwood.storage.atomic import read_whole
from cordwood.storage.log_config import LogConfig
from cordwood.storage.meta_properties import read_meta_properties
from cordwood.storage.topic_settings import TOPIC_SETTINGS, broker_source, config_from
from cordwood.workbench.metadata_found import FoundMetadata, find_metadata

GIVEN: Final = "--config"


class Cleanup(NamedTuple):
    """Whether a topic is compacted, and by whose word; None where nobody knows."""

    is_compacted: bool | None = None
    source: str = ""


class FoundSettings(NamedTuple):
    """The settings, each with the name of its source, and the sources that were asked, in order.

    Where no metadata know the topic, a default says nothing of how it is set.
    """

    config: LogConfig
    resolved: Mapping[str, Resolved]
    sources: tuple[str, ...]
    is_topic_known: bool = False

    @property
    def cleanup(self) -> Cleanup:
        """Whether the topic is compacted."""
        source = self.resolved["cleanup.policy"].source
        if source != GIVEN and not self.is_topic_known:
            return Cleanup()
        return Cleanup(self.config.is_compacted, source)


class SettingsFinder:
    """Finds the settings of topics. What a log directory has is read once."""

    def __init__(
        self,
        files: Files,
        *,
        given: Mapping[str, str] | None = None,
        broker_config: str | None = None,
    ) -> None:
        """SettingError for what is given and is no setting, or no value that it can have."""
        TOPIC_SETTINGS.refuse_unknown(given or {})
        self._files = files
        self._given = [Source(GIVEN, MappingProxyType(dict(given)))] if given else []
        TOPIC_SETTINGS.resolve(self._given)
        self._broker_config = broker_config
        self._metadata: dict[str, FoundMetadata | DamagedFileError | None] = {}

    def of(self, log_directory: str, topic: str | None) -> FoundSettings:
        """Return the settings of a topic; without one, of a log that nobody knows the topic of.

        DamagedFileError if there are metadata that cannot be read, SettingError for what they or
        the broker's file say and is no value of a setting.
        """
        sources, is_known = [*self._given], False
        metadata = None if topic is None else self._metadata_in(log_directory)
        if metadata is not None and topic is not None:
            sources += self._sources_in(log_directory, topic=topic, metadata=metadata)
            is_known = metadata.has_topic(topic)
        if self._broker_config is not None:
            texts = parse_properties(read_whole(self._files, self._broker_config))
            sources.append(broker_source(self._broker_config, texts))
        resolved = TOPIC_SETTINGS.resolve(sources)
        names = tuple(each.name for each in sources)
        return FoundSettings(config_from(resolved), resolved, names, is_topic_known=is_known)

    # -- inside

    def _metadata_in(self, log_directory: str) -> FoundMetadata | None:
        if log_directory not in self._metadata:
            try:
                self._metadata[log_directory] = find_metadata(self._files, log_directory)
            except DamagedFileError as error:
                self._metadata[log_directory] = error
        found = self._metadata[log_directory]
        if isinstance(found, DamagedFileError):
            raise found
        return found

    def _sources_in(
        self, log_directory: str, *, topic: str, metadata: FoundMetadata
    ) -> list[Source]:
        """Return what the metadata say of a topic, of this broker, and of all."""
        path = metadata.path
        sources = [Source(f"{path}, topic {topic}", metadata.config_of(TOPIC, topic))]
        meta = read_meta_properties(self._files, log_directory)
        brokers = [] if meta is None or meta.node_id is None else [str(meta.node_id)]
        for broker in (*brokers, ALL_BROKERS):
            texts = metadata.config_of(BROKER, broker)
            sources.append(broker_source(f"{path}, {broker or 'all brokers'}", texts))
        return sources
