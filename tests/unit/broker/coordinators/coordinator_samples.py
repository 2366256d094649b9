"""Brokers with coordinators for tests, in virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cordwood.broker.handlers.coordinators import find_coordinator
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.unit.broker.broker_samples import BrokerHarness, turns

#: Few partitions, so that a broker is made quickly.
FEW = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
}
GROUP, TRANSACTION, SHARE = range(3)


@asynccontextmanager
async def coordinating(**given: str) -> AsyncIterator[BrokerHarness]:
    """Start the coordinators of a broker, which has the topic `orders` with two partitions."""
    texts = {key.replace("_", "."): text for key, text in given.items()}
    harness = BrokerHarness(given={**FEW, **texts})
    broker = harness.broker
    broker.coordinators.start()
    try:
        await broker.topics.create([NewTopic(name="orders", partitions=2)])
        yield harness
    finally:
        await broker.coordinators.stop()


async def locate(harness: BrokerHarness, key: str = "g", kind: int = GROUP) -> int:
    """Find a coordinator, which creates its topic; return the error code."""
    request = FindCoordinatorRequest(key=key, key_type=kind)
    answer = await find_coordinator(harness.broker, harness.context(3), request)
    await turns(20)
    return answer.error_code
