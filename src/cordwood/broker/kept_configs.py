"""Configurations as the metadata keep them: what is believed of them, and how they are changed.

A node that somebody else has written, or a later release, may say what is not known here. That is
told and passed over, and stays in the node until the configuration is changed.
"""

from collections.abc import Callable, Mapping

from cordwood.broker.alterations import check_texts
from cordwood.broker.config_resources import ALL_BROKERS, Resource, topic_resource
from cordwood.broker.configs import BrokerConfigs
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import KafkaError
from cordwood.core.metadata_nodes import decode_texts, encode_texts
from cordwood.core.nodes import CreateNode, DeleteNode, NodeChange, SetNode
from cordwood.core.ports import MetadataStore


def known_texts(
    texts: Mapping[str, str], resource: Resource, *, on_event: Callable[[str], object]
) -> dict[str, str]:
    """Return those texts that the resource can have; `on_event` hears of the others."""
    known = {}
    for name, text in texts.items():
        try:
            check_texts({name: text}, resource)
        except KafkaError as error:
            on_event(f"{resource.path}: {name} is passed over: {error}")
        else:
            known[name] = text
    return known


def load_configs(
    store: MetadataStore, configs: BrokerConfigs, *, on_event: Callable[[str], object]
) -> None:
    """Let the configuration be what the metadata say of topics, of this broker and of all."""
    own = Resource(ResourceType.BROKER, str(configs.node_id))
    topics = (topic_resource(name) for name in store.children("/config/topics"))
    for resource in (ALL_BROKERS, own, *topics):
        node = store.get(resource.path)
        if node is not None:
            texts = known_texts(
                decode_texts(node.data, path=resource.path), resource, on_event=on_event
            )
            configs.apply(resource, texts)


def keep_texts(store: MetadataStore, resource: Resource, *, texts: Mapping[str, str]) -> NodeChange:
    """Return the change that lets the metadata say this of a resource."""
    data = encode_texts(texts)
    if store.get(resource.path) is None:
        return CreateNode(resource.path, data)
    return SetNode(resource.path, data)


def forget_texts(store: MetadataStore, resource: Resource) -> list[NodeChange]:
    """Return the changes that let the metadata say nothing of a resource."""
    return [] if store.get(resource.path) is None else [DeleteNode(resource.path)]
