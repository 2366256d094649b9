"""The clients for asyncio; `cordwood.aio` is this module."""

from cordwood.client.admin import Admin
from cordwood.client.consumer import Consumer
from cordwood.client.producer import Producer

__all__ = ("Admin", "Consumer", "Producer")
