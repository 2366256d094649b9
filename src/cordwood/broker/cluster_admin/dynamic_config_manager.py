"""Configurations from ZooKeeper, applied to this broker (Kafka: `DynamicConfigManager`).

    load           at the start: all topics, this broker, all brokers
    apply_change   after a notification that an entity has changed
    refresh        before the log of a topic is created here, and before a description

Kafka 3.9 does not notify brokers of the configuration of a new topic: a broker reads it when it
creates the log. Readings and changes come one at a time, so a reading is never replaced by an
earlier one.

A text is ignored, with an event, if this release does not accept it. Passwords are ignored: Kafka
encrypts them with `password.encoder.secret`, which is not supported. Ignored texts stay stored. A
configuration that the running broker cannot take is not applied, and its former one stays.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from cordwood.broker.cluster_admin.config_entities import TOPICS, entities_of, resource_of
from cordwood.broker.cluster_admin.zookeeper_outcome import zookeeper_outcome
from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import ALL_BROKERS, ConfigResource, topic_resource
from cordwood.broker.config.reconfiguration_checks import CHECKS, ReconfigurationCheck
from cordwood.broker.config.stored_configs import known_texts
from cordwood.broker.pending_results import next_turn, wait_for
from cordwood.broker.settings.catalogue import find_setting
from cordwood.cluster.zookeeper.store.config_store import ConfigStore
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntities
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import DamagedFileError, KafkaError
from cordwood.core.ports import Lane, Worker
from cordwood.core.settings import SettingType

#: Configurations that are read and applied in one loop turn.
_PER_TURN: Final = 50


class DynamicConfigManager:
    """Readings of the stored configurations; `on_event` receives lines for the operator."""

    def __init__(
        self,
        store: ConfigStore,
        configs: BrokerConfigs,
        worker: Worker,
        *,
        on_event: Callable[[str], object],
        checks: Sequence[ReconfigurationCheck] = CHECKS,
    ) -> None:
        self._store = store
        self._configs = configs
        self._worker = worker
        self._on_event = on_event
        self._checks = checks
        self._own = ConfigResource(ResourceType.BROKER, str(configs.node_id))
        self._turn = asyncio.Lock()

    async def load(self) -> None:
        """Apply all stored configurations of topics, of this broker and of all brokers."""
        async with self._turn:
            topics = [topic_resource(each.name) for each in await self._store.entities(TOPICS)]
            async for resource, texts in self._stored((ALL_BROKERS, self._own, *topics)):
                self._configs.apply(resource, self._known(resource, texts))

    async def apply_change(self, entities: ConfigEntities) -> None:
        """Apply the configuration of an entity that has changed, if it concerns this broker."""
        resource = resource_of(entities)
        if resource is None or (resource.is_broker and resource not in {ALL_BROKERS, self._own}):
            return
        async with self._turn:
            async for _, texts in self._stored([resource]):
                await self._take(resource, self._known(resource, texts))

    async def refresh(self, resources: Sequence[ConfigResource]) -> None:
        """Apply the stored configurations of resources, as far as they differ."""
        wanted = [each for each in resources if each.is_topic or each in {ALL_BROKERS, self._own}]
        async with self._turn:
            async for resource, texts in self._stored(wanted):
                known = self._known(resource, texts)
                if known != self._configs.texts(resource):
                    await self._take(resource, known)

    async def load_topics(self, topics: Iterable[str]) -> None:
        """Apply the stored configurations of topics, whose logs are created next."""
        with zookeeper_outcome():
            await self.refresh([topic_resource(each) for each in topics])

    # -- for changes by this broker

    @asynccontextmanager
    async def change(self, resource: ConfigResource) -> AsyncIterator[Mapping[str, str]]:
        """Exclude all other readings and changes; give the ignored texts of a resource.

        The stored configuration is applied before.
        """
        async with self._turn:
            (stored,) = await self._store.read_all([entities_of(resource)])
            known = self._known(resource, stored)
            if known != self._configs.texts(resource):
                self._configs.apply(resource, known)
            yield {name: text for name, text in stored.items() if name not in known}

    def check(self, resource: ConfigResource, texts: Mapping[str, str]) -> None:
        """Raise for settings that the running broker cannot take; called on the worker."""
        if resource.is_broker:
            planned = self._configs.planned(resource, texts)
            for check in self._checks:
                check(planned, self._configs)

    async def store(self, resource: ConfigResource, texts: Mapping[str, str]) -> None:
        """Store the configuration of a resource, and notify all brokers."""
        await self._store.write(entities_of(resource), texts)

    # -- within

    async def _stored(
        self, resources: Sequence[ConfigResource]
    ) -> AsyncIterator[tuple[ConfigResource, dict[str, str]]]:
        """Yield the stored configurations; each reading ends a turn of the loop."""
        for start in range(0, len(resources), _PER_TURN):
            for each in (await self._read(resources[start : start + _PER_TURN])).items():
                yield each
            await next_turn()

    async def _read(
        self, resources: Sequence[ConfigResource]
    ) -> dict[ConfigResource, dict[str, str]]:
        """Read configurations; a damaged one is left out, with an event."""
        entities = [entities_of(each) for each in resources]
        try:
            return dict(zip(resources, await self._store.read_all(entities), strict=True))
        except DamagedFileError as error:
            if len(resources) == 1:
                self._on_event(f"{error}: the former configuration stays")
                return {}
        found = dict[ConfigResource, dict[str, str]]()
        for each in resources:
            found |= await self._read([each])
        return found

    def _known(self, resource: ConfigResource, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the texts that this broker can use."""
        clear = {}
        for name, text in texts.items():
            setting = find_setting(name) if resource.is_broker else None
            if setting is not None and setting.type is SettingType.PASSWORD:
                self._on_event(f"{resource.path}: {name} is ignored: passwords are not stored here")
            else:
                clear[name] = text
        return known_texts(clear, resource, on_event=self._on_event)

    async def _take(self, resource: ConfigResource, texts: Mapping[str, str]) -> None:
        """Apply a configuration, unless the running broker cannot take it."""
        try:
            check = self._worker.submit(lambda: self.check(resource, texts), lane=Lane.METADATA)
            await wait_for(check)
        except KafkaError as error:
            self._on_event(f"{resource.path}: not applied: {error}")
        else:
            self._configs.apply(resource, texts)
