"""Configurations change while the broker runs: checked, kept in the metadata, then applied.

The levels of loggers are not kept; they change at once.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from cordwood.broker.alterations import Alteration
from cordwood.broker.config_resources import Resource
from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.kept_configs import keep_texts
from cordwood.broker.metadata import Metadata
from cordwood.broker.metadata_writer import MetadataWriter
from cordwood.broker.topic_rules import check_name
from cordwood.core.errors import UnknownTopicOrPartitionError

Given: TypeAlias = Sequence[tuple[str, str | None]]


class ConfigChanges:
    """All changes of configurations on this broker."""

    def __init__(self, writer: MetadataWriter, configs: BrokerConfigs, metadata: Metadata) -> None:
        self._writer = writer
        self._configs = configs
        self._metadata = metadata

    async def alter(
        self, resource: Resource, alterations: Sequence[Alteration], *, validate_only: bool
    ) -> None:
        """Make single changes of a resource's texts; all of them, or none."""
        plan = partial(self._configs.altered, resource, alterations)
        await self._change(resource, plan, validate_only=validate_only)

    async def replace(self, resource: Resource, given: Given, *, validate_only: bool) -> None:
        """Let a resource have these texts and no others."""
        plan = partial(self._configs.replaced, resource, given)
        await self._change(resource, plan, validate_only=validate_only)

    def ensure_there(self, resource: Resource) -> None:
        """Refuse a topic that there is not, or cannot be."""
        if resource.is_topic and resource.name not in self._metadata.image.topics:
            check_name(resource.name)
            raise UnknownTopicOrPartitionError(f"The topic '{resource.name}' does not exist.")

    async def _change(
        self, resource: Resource, plan: Callable[[], Mapping[str, str]], *, validate_only: bool
    ) -> None:
        async with self._writer.change() as change:
            self.ensure_there(resource)
            texts = plan()
            if not validate_only:
                await change.keep(lambda store: [keep_texts(store, resource, texts=texts)])
                self._configs.apply(resource, texts)
