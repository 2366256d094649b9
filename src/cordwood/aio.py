"""Producer, consumer and admin client for asyncio; docs/clients.md has their options.

from cordwood import aio

async with aio.Producer("127.0.0.1:9092") as producer:
    await (await producer.send("orders", b"42 logs"))
"""

from cordwood.client.aio import Admin, Consumer, Producer

__all__ = ("Admin", "Consumer", "Producer")
