"""Configurations in the metadata store: read with validation, and changed (Kafka:
`ConfigurationsImage`).

A node that another program or a later release has written may contain settings that this release
does not accept. They are ignored with an event, and stay in the node until the configuration is
changed.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import check_texts
from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    ConfigResource,
    group_resource,
    topic_resource,
)
from cordwood.broker.settings.operation import WITHOUT_ALTERED
from cordwood.core.config_codes import ConfigSource, ResourceType
from cordwood.core.errors import KafkaError, SettingError
from cordwood.core.metadata_paths import GROUP_CONFIGS, decode_name, decode_texts, encode_texts
from cordwood.core.ports import MetadataStore
from cordwood.core.znodes import CreateZNode, DeleteZNode, SetZNode, ZNodeChange

_MIN_INSYNC: Final = "min.insync.replicas"


def known_texts(
    texts: Mapping[str, str], resource: ConfigResource, *, on_event: Callable[[str], object]
) -> dict[str, str]:
    """Return the valid texts of a resource; `on_event` receives a line for each other one."""
    known = {}
    for name, text in texts.items():
        try:
            check_texts({name: text}, resource)
        except KafkaError as error:
            on_event(f"{resource.path}: {name} is ignored: {error}")
        else:
            known[name] = text
    return known


def initial_texts(configs: BrokerConfigs) -> dict[str, str]:
    """Return the texts that a new cluster sets on all brokers (Kafka: KIP-966).

    Kafka 4 moves `min.insync.replicas` from the startup sources into the metadata, so that every
    broker has the same value.
    """
    return {_MIN_INSYNC: str(configs.integer(_MIN_INSYNC))}


def load_configs(
    store: MetadataStore, configs: BrokerConfigs, *, on_event: Callable[[str], object]
) -> None:
    """Apply the stored configurations of topics, groups, this broker and all brokers."""
    own = ConfigResource(ResourceType.BROKER, str(configs.node_id))
    topics = (topic_resource(name) for name in store.children("/config/topics"))
    groups = (group_resource(decode_name(name)) for name in store.children(GROUP_CONFIGS))
    if configs.boolean(WITHOUT_ALTERED):
        on_event(f"{WITHOUT_ALTERED}: the altered settings of brokers are not used")
    for resource in (ALL_BROKERS, own, *topics, *groups):
        node = store.get(resource.path)
        if node is not None:
            texts = known_texts(
                decode_texts(node.data, path=resource.path), resource, on_event=on_event
            )
            configs.apply(resource, texts)
    _report_overridden(configs, own, on_event)


def _report_overridden(
    configs: BrokerConfigs, own: ConfigResource, on_event: Callable[[str], object]
) -> None:
    """Report a startup value of `min.insync.replicas` that the stored one overrides."""
    (entry,) = configs.describe(own, [_MIN_INSYNC])
    static = [each for each in entry.synonyms if each.source is ConfigSource.STATIC_BROKER]
    given = [(each.value or "").strip() for each in static]
    if given and given[0] != entry.value:
        on_event(
            f"{ALL_BROKERS.path}: {_MIN_INSYNC} is {entry.value}, which overrides {given[0]} of the"
            " startup settings; alter it with cordwood configs alter --entity-type brokers"
            " --entity-default"
        )


@contextmanager
def naming_altered_settings(configs: BrokerConfigs) -> Iterator[None]:
    """Add the way out to the error of a start that fails on an altered setting."""
    try:
        yield
    except SettingError as error:
        family = error.key.partition("ssl.keystore.")[0]
        if not configs.altered_names(family):
            raise
        raise SettingError(
            f"{error.problem} (altered: {', '.join(configs.altered_names(family))})",
            key=error.key,
            remedy=f"{error.remedy}; or start once with --without-altered-configs, and delete it"
            " with cordwood configs alter",
        ) from error


def put_texts(
    store: MetadataStore, resource: ConfigResource, *, texts: Mapping[str, str]
) -> list[ZNodeChange]:
    """Return the changes that store these texts for a resource; a group without any has no node."""
    data = encode_texts(texts)
    if resource.is_group and not texts:
        return delete_texts(store, resource)
    if store.get(resource.path) is not None:
        return [SetZNode(resource.path, data)]
    is_first = resource.is_group and store.get(GROUP_CONFIGS) is None
    parents = [CreateZNode(GROUP_CONFIGS)] if is_first else []
    return [*parents, CreateZNode(resource.path, data)]


def delete_texts(store: MetadataStore, resource: ConfigResource) -> list[ZNodeChange]:
    """Return the changes that delete a resource's texts."""
    return [] if store.get(resource.path) is None else [DeleteZNode(resource.path)]
