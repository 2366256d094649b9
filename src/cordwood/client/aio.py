"""Asyncio clients; `cordwood.aio` is this module."""

from cordwood.client.admin.admin_client import Admin
from cordwood.client.consumer.consumer import Consumer
from cordwood.client.producer.producer import Producer

__all__ = ("Admin", "Consumer", "Producer")
