"""The configuration of a running broker and its topics: what counts, who said so, what may change.

    topic's own > this broker's > all brokers' > given at the start > default

What was given at the start is server.properties, the environment above it, and the command line
above both. Values are read here each time they are needed, so that a change counts at once; who
keeps something that was made of values asks to be called.

Nothing is stored here: whoever changes a configuration stores `altered` first and `apply`s it then.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

from cordwood.broker.alterations import (
    Alteration,
    plan_alteration,
    plan_replacement,
    refusal,
)
from cordwood.broker.config_entries import (
    ALL_BROKERS_SOURCE,
    BROKER_SOURCE,
    TOPIC_SOURCE,
    ConfigEntry,
    entry,
    said,
)
from cordwood.broker.config_resources import (
    ALL_BROKERS,
    Resource,
    topic_resource,
)
from cordwood.broker.settings.catalogue import BROKER_SETTINGS, UNSHOWN, declared
from cordwood.broker.settings.topic_defaults import FALLBACKS, TOPIC_DEFAULTS
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import SettingError
from cordwood.core.settings import Password, Resolved, SettingTable, SettingValue, Source
from cordwood.storage.log_config import LogConfig
from cordwood.storage.topic_settings import (
    INTERNAL_SEGMENT_BYTES,
    TOPIC_SETTINGS,
    broker_source,
    config_from,
    refuse_contradictions,
)

T = TypeVar("T")
Texts = Mapping[str, str]

_DEFAULTS: Final = MappingProxyType({each.name: each.default for each in BROKER_SETTINGS})
_INHERITED: Final = frozenset(each.name for each in TOPIC_DEFAULTS)
_NOTHING: Final[Texts] = MappingProxyType({})


class BrokerConfigs:
    """The configurations of one broker; `given` are the sources of its start, strongest first."""

    def __init__(self, node_id: int, given: Sequence[Source]) -> None:
        self.node_id = node_id
        self._given = tuple(given)
        self._broker = Resource(ResourceType.BROKER, str(node_id))
        self._texts: dict[Resource, Texts] = {}
        self._watchers: list[tuple[frozenset[str], Callable[[], object]]] = []
        self._topic_watchers: list[Callable[[str | None], object]] = []
        self._sources = self._sources_with({})
        self._resolved = BROKER_SETTINGS.resolve(self._sources)
        self._inherited = _for_topics(self._sources)
        _check_for_topics(self._inherited)
        self._inherited_log_config = _log_config(self._inherited)
        self._own_log_configs: dict[str, LogConfig] = {}

    # -- what counts

    def value(self, name: str) -> SettingValue:
        """Return a broker's value, also of a listener's key."""
        found = self._resolved.get(name)
        return found.value if found is not None else self._resolved_of_listener(name).value

    def integer(self, name: str) -> int:
        """Return a value that is a whole number."""
        return _of_kind(name, self.value(name), int)

    def number(self, name: str) -> float:
        """Return a value that may have a fraction."""
        return _of_kind(name, self.value(name), float)

    def boolean(self, name: str) -> bool:
        """Return a value that is true or false."""
        return _of_kind(name, self.value(name), bool)

    def text(self, name: str) -> str:
        """Return a value that is a text, empty where there is none."""
        return _of_kind(name, self.value(name) or "", str)

    def words(self, name: str) -> tuple[str, ...]:
        """Return a value that is a list, empty where there is none."""
        return _of_kind(name, self.value(name) or (), tuple)

    def secret(self, name: str) -> str | None:
        """Return a password; only who hands it on may ask."""
        value = self.value(name)
        return None if value is None else _of_kind(name, value, Password).secret

    def is_given(self, key: str) -> bool:
        """Say whether anybody gave a value under this very key."""
        return any(key in source.texts for source in self._sources)

    def config_for(self, topic: str) -> LogConfig:
        """Return what a topic's logs live by, made when it is first asked for."""
        texts = self.texts(topic_resource(topic))
        if not texts:
            return self._inherited_log_config
        if topic not in self._own_log_configs:
            sources = [Source(TOPIC_SOURCE, texts), *self._inherited]
            self._own_log_configs[topic] = _log_config(sources)
        return self._own_log_configs[topic]

    def texts(self, resource: Resource) -> Texts:
        """Return what has been set on a resource itself."""
        return self._texts.get(resource, _NOTHING)

    # -- what is shown

    def describe(self, resource: Resource, names: Iterable[str] | None = None) -> list[ConfigEntry]:
        """Return a resource's entries, or those of `names` alone."""
        if resource.is_topic:
            entries = self.describe_topic(self.texts(resource))
        elif resource == ALL_BROKERS:
            entries = self._entries_of_all_brokers()
        else:
            entries = self._entries_of_broker()
        wanted = None if names is None else frozenset(names)
        return [each for each in entries if wanted is None or each.name in wanted]

    def describe_topic(self, texts: Texts) -> Iterator[ConfigEntry]:
        """Yield the entries of a topic on which these texts are set."""
        sources = [Source(TOPIC_SOURCE, texts), *self._inherited]
        resolved = TOPIC_SETTINGS.resolve(sources)
        for setting in TOPIC_SETTINGS:
            if setting.name != INTERNAL_SEGMENT_BYTES:
                synonyms = [*said(list(setting.names()), sources, defaults=_DEFAULTS)]
                yield entry(setting, resolved[setting.name], synonyms=synonyms)

    # -- what changes

    def altered(self, resource: Resource, alterations: Sequence[Alteration]) -> dict[str, str]:
        """Return a resource's texts after changes that are allowed; nothing has changed yet."""
        texts = plan_alteration(self.texts(resource), alterations, resource=resource)
        self._check_together(resource, texts)
        return texts

    def replaced(
        self, resource: Resource, given: Sequence[tuple[str, str | None]]
    ) -> dict[str, str]:
        """Return a resource's texts where they shall be these and no others."""
        texts = plan_replacement(given, resource)
        self._check_together(resource, texts)
        return texts

    def apply(self, resource: Resource, texts: Texts) -> None:
        """Let a resource have these texts, then call those who wait for what has changed.

        The texts are those of `altered` or `replaced`, or were kept since; none are a topic's end.
        """
        if texts:
            self._texts[resource] = MappingProxyType(dict(texts))
        else:
            self._texts.pop(resource, None)
        if resource.is_topic:
            self._own_log_configs.pop(resource.name, None)
            self._tell_topics(resource.name)
        else:
            self._apply_to_broker()

    def on_change(self, names: Iterable[str], call: Callable[[], object]) -> None:
        """Call whenever the value of one of `names` has changed, on a listener or for all."""
        self._watchers.append((frozenset(names), call))

    def on_topic_change(self, call: Callable[[str | None], object]) -> None:
        """Call with the topic whose `config_for` may have changed; with None, any topic's may."""
        self._topic_watchers.append(call)

    # -- within

    def _sources_with(self, changed: Mapping[Resource, Texts]) -> list[Source]:
        dynamic = ((BROKER_SOURCE, self._broker), (ALL_BROKERS_SOURCE, ALL_BROKERS))
        sources = [
            Source(name, changed.get(resource, self.texts(resource))) for name, resource in dynamic
        ]
        return [*sources, *self._given]

    def _resolved_of_listener(self, key: str) -> Resolved:
        setting = declared(key)
        assert setting is not None, f"{key} is no setting"
        return SettingTable([setting]).resolve(self._sources)[key]

    def _check_together(self, resource: Resource, texts: Texts) -> None:
        """Raise for values that are good alone, and not with what else is said."""
        try:
            if resource.is_topic:
                _check_for_topics([Source(TOPIC_SOURCE, texts), *self._inherited])
            else:
                _check_for_topics(_for_topics(self._sources_with({resource: texts})))
        except SettingError as error:
            raise refusal(error, resource) from error

    def _apply_to_broker(self) -> None:
        before, listeners_before = self._resolved, self._texts_of_listeners()
        self._sources = self._sources_with({})
        self._resolved = BROKER_SETTINGS.resolve(self._sources)
        self._inherited = _for_topics(self._sources)
        changed = {
            name for name, found in self._resolved.items() if found.value != before[name].value
        }
        changed |= {
            declaration.synonyms[0].name
            for key, _ in self._texts_of_listeners() ^ listeners_before
            if (declaration := declared(key)) is not None
        }
        if changed & _INHERITED:
            self._inherited_log_config = _log_config(self._inherited)
            self._own_log_configs.clear()
            self._tell_topics(None)
        for names, call in self._watchers:
            if names & changed:
                call()

    def _tell_topics(self, topic: str | None) -> None:
        for call in self._topic_watchers:
            call(topic)

    def _texts_of_listeners(self) -> set[tuple[str, str]]:
        return {
            (key, text)
            for source in self._sources
            for key, text in source.texts.items()
            if BROKER_SETTINGS.find(key) is None and declared(key) is not None
        }

    def _entries_of_broker(self) -> Iterator[ConfigEntry]:
        for setting in BROKER_SETTINGS:
            if setting.name not in UNSHOWN:
                names = [*setting.names(), *FALLBACKS.get(setting.name, ())]
                synonyms = [*said(names, self._sources, defaults=_DEFAULTS)]
                yield entry(setting, self._resolved[setting.name], synonyms=synonyms)
        for key in sorted({key for key, _ in self._texts_of_listeners()}):
            setting_of_listener = declared(key)
            assert setting_of_listener is not None, "the key has been found to be a listener's"
            names = list(setting_of_listener.names())
            synonyms = [*said(names, self._sources, defaults=_DEFAULTS)]
            yield entry(setting_of_listener, self._resolved_of_listener(key), synonyms=synonyms)

    def _entries_of_all_brokers(self) -> Iterator[ConfigEntry]:
        source = Source(ALL_BROKERS_SOURCE, self.texts(ALL_BROKERS))
        for key, text in source.texts.items():
            setting = declared(key)
            assert setting is not None, "no other texts are applied"
            resolved = Resolved(setting.parse(text), key, source.name)
            yield entry(setting, resolved, synonyms=[*said([key], [source], defaults={})])


def _for_topics(sources: Sequence[Source]) -> list[Source]:
    return [broker_source(source.name, source.texts) for source in sources]


def _check_for_topics(sources: Sequence[Source]) -> None:
    refuse_contradictions(TOPIC_SETTINGS.resolve(sources))


def _log_config(sources: Sequence[Source]) -> LogConfig:
    """Return what logs live by, contradictions and all: a broker's value may meet a topic's own."""
    return config_from(TOPIC_SETTINGS.resolve(sources))


def _of_kind(name: str, value: SettingValue, kind: type[T]) -> T:
    assert isinstance(value, kind), f"{name} is not of type {kind.__name__}"
    return value
