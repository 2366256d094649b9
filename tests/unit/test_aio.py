"""The clients for asyncio are a module of the package, by each form of import."""

import importlib

import cordwood
from cordwood.client import aio as clients


def test_clients_for_asyncio_are_a_module() -> None:
    module = importlib.import_module("cordwood.aio")

    assert cordwood.aio is module
    assert [getattr(module, name) for name in module.__all__] == [
        clients.Admin,
        clients.Consumer,
        clients.Producer,
    ]
