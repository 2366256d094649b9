"""`cordwood serve` that loses responses: records are appended, and their producer gets no response.

It holds back the responses to Produce requests for the topic in LOST_TOPIC while the file in
LOST_WHILE exists. The arguments are those of `cordwood`.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Final

from cordwood.broker.handlers import produce
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.protocol.messages.produce import ProduceRequest, ProduceResponse
from tests.loop_guard import run_guarded

TOPIC: Final = "LOST_TOPIC"
WHILE: Final = "LOST_WHILE"

Handler = Callable[
    [BrokerServices, RequestContext, ProduceRequest],
    Coroutine[object, object, ProduceResponse | None],
]


def losing(handler: Handler) -> Handler:
    """Return a handler whose responses are lost."""

    async def handle(
        broker: BrokerServices, context: RequestContext, request: ProduceRequest
    ) -> ProduceResponse | None:
        response = await handler(broker, context, request)
        names = {topic.name for topic in response.responses} if response is not None else set()
        topic = broker.metadata.image.topics.get(os.environ[TOPIC])
        ids = {topic.topic_id} if topic is not None else set()
        is_held = os.environ[TOPIC] in names or any(each.topic_id in ids for each in request.topics)
        if is_held and Path(os.environ[WHILE]).exists():  # noqa: ASYNC240 - a test
            await asyncio.get_running_loop().create_future()
        return response

    return handle


if __name__ == "__main__":
    setattr(produce, "produce", losing(produce.produce))  # noqa: B010 - replaced on purpose
    run_guarded()
