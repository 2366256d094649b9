"""Configuration changes in a cluster: validated, stored, notified, applied (Kafka:
`ZkAdminManager`).

Any broker changes the configurations of topics and of all brokers, and each broker its own. A
change begins with the stored configuration, and replaces it as a whole: of two brokers that change
one resource at the same time, the later one wins, as in Kafka.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from cordwood.broker.cluster_admin.dynamic_config_manager import DynamicConfigManager
from cordwood.broker.cluster_admin.zookeeper_outcome import zookeeper_outcome
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import ConfigAlteration
from cordwood.broker.config.config_resources import ConfigResource
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.pending_results import wait_for
from cordwood.broker.settings.catalogue import find_setting
from cordwood.broker.topics.config_administration import Assignments
from cordwood.broker.topics.topic_validation import ensure_topic_exists
from cordwood.core.errors import InvalidRequestError
from cordwood.core.ports import Lane, Worker
from cordwood.core.settings import SettingType


class ClusterConfigChanges:
    """Changes of configurations by one broker of a cluster."""

    def __init__(
        self,
        manager: DynamicConfigManager,
        configs: BrokerConfigs,
        metadata: MetadataCache,
        worker: Worker,
    ) -> None:
        self._manager = manager
        self._configs = configs
        self._metadata = metadata
        self._worker = worker

    async def alter(
        self,
        resource: ConfigResource,
        alterations: Sequence[ConfigAlteration],
        *,
        validate_only: bool,
    ) -> None:
        """Apply alterations to a resource; stored texts that this release ignores stay stored."""
        altered = frozenset(each.name for each in alterations)
        plan = partial(self._configs.plan_alteration, resource, alterations)
        await self._change(resource, plan, replaced=altered, validate_only=validate_only)

    async def replace(
        self, resource: ConfigResource, assignments: Assignments, *, validate_only: bool
    ) -> None:
        """Replace the whole configuration of a resource."""
        plan = partial(self._configs.plan_replacement, resource, assignments)
        await self._change(resource, plan, replaced=None, validate_only=validate_only)

    async def refresh(self, resources: Sequence[ConfigResource]) -> None:
        """Apply the stored configurations of resources that other brokers may have changed."""
        with zookeeper_outcome():
            await self._manager.refresh(resources)

    async def _change(
        self,
        resource: ConfigResource,
        plan: Callable[[], Mapping[str, str]],
        *,
        replaced: frozenset[str] | None,
        validate_only: bool,
    ) -> None:
        """Change a resource; of its ignored texts, those with replaced names go, all if None."""

        def planned() -> Mapping[str, str]:
            texts = plan()
            _refuse_passwords(resource, texts)
            self._manager.check(resource, texts)
            return texts

        with zookeeper_outcome():
            async with self._manager.change(resource) as ignored:
                ensure_topic_exists(resource, self._metadata.image)
                # There may be thousands of names.
                texts = await wait_for(self._worker.submit(planned, lane=Lane.METADATA))
                if validate_only:
                    return
                kept = {
                    name: text
                    for name, text in ignored.items()
                    if replaced is not None and name not in replaced
                }
                await self._manager.store(resource, {**kept, **texts})
                self._configs.apply(resource, texts)


def _refuse_passwords(resource: ConfigResource, texts: Mapping[str, str]) -> None:
    for name in texts:
        setting = find_setting(name) if resource.is_broker else None
        if setting is not None and setting.type is SettingType.PASSWORD:
            raise InvalidRequestError(
                f"{name}: passwords are not stored in ZooKeeper, since there is no"
                " password.encoder.secret; set it in server.properties"
            )
