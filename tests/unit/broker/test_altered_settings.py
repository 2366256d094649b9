"""A setting that was altered so that the broker cannot start is found, and can be deleted."""

import asyncio
from pathlib import Path

import pytest

from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import ALL_BROKERS, ConfigResource
from cordwood.broker.services import BrokerServices
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import InvalidRequestError, SettingError
from cordwood.core.settings import SettingSource
from cordwood.node.node import Node
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.broker.conftest import Identity

OWN = ConfigResource(ResourceType.BROKER, "1")
KEYSTORE = "listener.name.ssl.ssl.keystore.location"
WITHOUT_ALTERED = {"cordwood.without.altered.configs": "true"}
NOTHING: dict[str, str] = {}


@pytest.fixture
def keystore(identity: Identity, tmp_path: Path) -> Path:
    path = tmp_path / "broker.pem"
    path.write_text(identity.key + identity.certificate)
    return path


def node(files: MemoryFiles, keystore: Path, **given: str) -> Node:
    clock = VirtualClock()
    runtime = inline_runtime(files, clock=clock, scheduler=clock, random=SeededRandom(1))
    texts = {
        "node.id": "1",
        "log.dirs": "/logs",
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
        "ssl.keystore.location": str(keystore),
        **given,
    }
    return Node([SettingSource("test", texts)], runtime)


async def alter(broker: BrokerServices, name: str, value: str | None) -> None:
    operation = AlterOperation.DELETE if value is None else AlterOperation.SET
    resource = OWN if name == KEYSTORE else ALL_BROKERS
    change = ConfigAlteration(name, operation, value)
    await broker.config_changes.alter(resource, [change], validate_only=False)


def test_keystore_that_cannot_be_loaded_is_rejected(keystore: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    bad.write_text("no key")

    async def scene() -> dict[str, str]:
        started = node(MemoryFiles(), keystore)
        broker = await started.start()
        with pytest.raises(InvalidRequestError, match="Validation of dynamic config update of SSL"):
            await alter(broker, KEYSTORE, str(bad))
        await started.stop()
        return dict(broker.configs.texts(OWN))

    assert asyncio.run(scene()) == {}


def test_start_that_fails_on_an_altered_setting_names_the_way_out(
    keystore: Path, tmp_path: Path
) -> None:
    altered = tmp_path / "altered.pem"
    altered.write_text(keystore.read_text())

    async def scene() -> tuple[str, int]:
        files = MemoryFiles()
        started = node(files, keystore)
        await alter(await started.start(), KEYSTORE, str(altered))
        await started.stop()
        altered.unlink()
        with pytest.raises(SettingError) as refused:
            await node(files, keystore).start()

        started = node(files, keystore, **WITHOUT_ALTERED)
        broker = await started.start()
        await alter(broker, KEYSTORE, None)
        await started.stop()
        started = node(files, keystore)
        addresses = len((await started.start()).configs.texts(OWN))
        await started.stop()
        return str(refused.value), addresses

    problem, left = asyncio.run(scene())
    assert f"(altered: {KEYSTORE})" in problem
    assert "start once with --without-altered-configs, and delete it" in problem
    assert left == 0


def test_altered_settings_are_kept_while_they_are_not_used(keystore: Path) -> None:
    async def scene() -> list[tuple[str, bool]]:
        files = MemoryFiles()
        started = node(files, keystore)
        await alter(await started.start(), "log.retention.ms", "77")
        await started.stop()
        found = []
        for given in (WITHOUT_ALTERED, NOTHING):
            started = node(files, keystore, **given)
            broker = await started.start()
            kept = broker.configs.texts(ALL_BROKERS)["log.retention.ms"]
            found.append((kept, broker.configs.is_given("log.retention.ms")))
            await started.stop()
        return found

    assert asyncio.run(scene()) == [("77", False), ("77", True)]


def test_altered_setting_without_an_effect_is_kept_over_a_restart(keystore: Path) -> None:
    async def scene() -> str:
        files = MemoryFiles()
        started = node(files, keystore)
        await alter(await started.start(), "num.io.threads", "9")
        await started.stop()
        started = node(files, keystore)
        kept = (await started.start()).configs.texts(ALL_BROKERS)["num.io.threads"]
        await started.stop()
        return kept

    assert asyncio.run(scene()) == "9"
