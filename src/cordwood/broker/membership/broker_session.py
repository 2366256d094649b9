"""Registration of this broker, as long as its session lasts and again in the next one.

Kafka: `KafkaZkClient.registerBroker`, `RegisterBrokerAndReelect`.

A process that was killed keeps its id until the end of its session. Its successor has the same
endpoints, on which no other process can listen, so it waits for that end. A broker with other
endpoints is another one, and its id is refused at once.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from cordwood.cluster.controller.context.live_broker import UNKNOWN_BROKER_EPOCH
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.cluster.zookeeper.znodes.broker_znode import BrokerRegistration
from cordwood.core.errors import DuplicateBrokerRegistrationError


class BrokerSession:
    """The registration of one broker; `on_event` receives messages for the operator."""

    def __init__(self, store: ZooKeeperStore, *, on_event: Callable[[str], object]) -> None:
        self._store: Final = store
        self._on_event = on_event
        self._registration: BrokerRegistration | None = None
        self._is_expired = False
        #: The epoch of the latest registration.
        self.broker_epoch = UNKNOWN_BROKER_EPOCH
        self._has_registered = asyncio.Event()

    async def register(self, registration: BrokerRegistration) -> None:
        """Register for the first time; DuplicateBrokerRegistrationError."""
        self._registration = registration
        await self._register(registration)

    async def first_registration(self) -> None:
        """Wait until the broker has a broker epoch."""
        await self._has_registered.wait()

    def expire(self) -> None:
        """Note that the session is over."""
        self._is_expired = True

    async def begin_again(self) -> None:
        """Begin the next session if the last one is over, and register again."""
        if self._is_expired:
            self._is_expired = False
            await self._store.start()
        if self._registration is not None:
            await self._register(self._registration)

    async def _register(self, registration: BrokerRegistration) -> None:
        brokers, broker_id = self._store.brokers, registration.broker_id
        while True:
            try:
                self.broker_epoch = await brokers.register(registration)
            except DuplicateBrokerRegistrationError:
                former = {each.broker_id: each for each in await brokers.live()}.get(broker_id)
                if former is not None and former.endpoints != registration.endpoints:
                    raise
                self._on_event(
                    f"broker {broker_id} waits for the end of its former session in ZooKeeper"
                )
                await brokers.until_unregistered(broker_id)
            else:
                self._has_registered.set()
                return
