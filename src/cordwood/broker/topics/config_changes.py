"""Configuration changes of the running broker: validated, stored, applied (Kafka:
`ConfigurationControlManager`).

Logger levels are not stored; `logger_levels` changes them at once.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import ConfigAlteration
from cordwood.broker.config.config_resources import ConfigResource
from cordwood.broker.config.reconfiguration_checks import CHECKS, ReconfigurationCheck
from cordwood.broker.config.stored_configs import put_texts
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.broker.topics.config_administration import Assignments
from cordwood.broker.topics.topic_validation import ensure_topic_exists


class ConfigChanges:
    """All changes of configurations on this broker."""

    def __init__(
        self,
        writer: MetadataWriter,
        configs: BrokerConfigs,
        metadata: MetadataCache,
        *,
        checks: Sequence[ReconfigurationCheck] = CHECKS,
    ) -> None:
        self._writer = writer
        self._configs = configs
        self._metadata = metadata
        self._checks = checks

    async def alter(
        self,
        resource: ConfigResource,
        alterations: Sequence[ConfigAlteration],
        *,
        validate_only: bool,
    ) -> None:
        """Apply alterations to a resource, all of them or none."""
        plan = partial(self._configs.plan_alteration, resource, alterations)
        await self._change(resource, plan, validate_only=validate_only)

    async def replace(
        self, resource: ConfigResource, assignments: Assignments, *, validate_only: bool
    ) -> None:
        """Replace the whole configuration of a resource."""
        plan = partial(self._configs.plan_replacement, resource, assignments)
        await self._change(resource, plan, validate_only=validate_only)

    async def refresh(self, resources: Sequence[ConfigResource]) -> None:
        """Do nothing: all changes are made here, and are applied when they are stored."""

    async def _change(
        self,
        resource: ConfigResource,
        plan: Callable[[], Mapping[str, str]],
        *,
        validate_only: bool,
    ) -> None:
        async with self._writer.change() as change:
            ensure_topic_exists(resource, self._metadata.image)
            texts = await change.run_blocking(plan)  # there may be thousands of names
            if resource.is_broker:
                planned = self._configs.planned(resource, texts)
                await change.run_blocking(lambda: self._check(planned))
            if not validate_only:
                await change.store(lambda store: put_texts(store, resource, texts=texts))
                self._configs.apply(resource, texts)

    def _check(self, planned: BrokerConfigs) -> None:
        """Raise for settings that the running broker cannot take; called on the worker."""
        for check in self._checks:
            check(planned, self._configs)
