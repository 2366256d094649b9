"""Tests of TLS listeners, with keys from files and from settings."""

import re
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import ALL_BROKERS
from cordwood.broker.network.acceptor import Listener
from cordwood.broker.network.connection_quotas import SocketServerSettings
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.network.response_writer import PIECE_BYTES
from cordwood.broker.network.tls import ListenerTls, tls_of_listener
from cordwood.core.errors import SettingError
from cordwood.core.settings import SettingSource
from cordwood.core.system import SystemFiles
from cordwood.observability.log_lines import LOGFMT
from cordwood.observability.logs import EventFormatter
from cordwood.protocol.primitives import Chunk
from cordwood.testing.memory_files import MemoryFiles, MemorySlice
from tests.unit.broker.conftest import Identity
from tests.unit.broker.server_samples import Peer, Run, ServerHarness, request, serving, turn

BIG = bytes(range(256)) * 4096


def context_of(**texts: str) -> ssl.SSLContext:
    given = {key.replace("_", "."): text for key, text in texts.items()}
    return tls_of_listener(BrokerConfigs(1, [SettingSource("test", given)]), "")


def in_place(identity: Identity) -> ssl.SSLContext:
    return context_of(
        ssl_keystore_key=identity.key, ssl_keystore_certificate_chain=identity.certificate
    )


def client_of(identity: Identity) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=identity.certificate)


def secured(tls: ssl.SSLContext) -> tuple[Listener, ...]:
    return (Listener(name="SSL", host="127.0.0.1", port=0, tls=lambda: tls),)


def test_requests_of_every_size_are_answered_in_order(run: Run, identity: Identity) -> None:
    bodies = [b"small", BIG, b"x" * 20_000, BIG, b"end"]

    async def scene() -> list[tuple[int, bytes]]:
        async with serving(listeners=secured(in_place(identity))) as harness:
            peer = await harness.connect("SSL", client_of(identity))
            peer.send(*(request(number, body) for number, body in enumerate(bodies)))
            return [await peer.answer() for _ in bodies]

    assert run(scene()) == list(enumerate(bodies))


def test_connection_over_tls_is_marked_as_secure(run: Run, identity: Identity) -> None:
    async def handle(context: RequestContext, _body: memoryview) -> list[Chunk]:
        return [str(context.connection.is_secure).encode()]

    async def scene() -> bytes:
        async with serving(handle, listeners=secured(in_place(identity))) as harness:
            return await (await harness.connect("SSL", client_of(identity))).ask(b"")

    assert run(scene()) == b"True"


def test_file_is_sent_encrypted_and_released(run: Run, identity: Identity, tmp_path: Path) -> None:
    file = SystemFiles().create(f"{tmp_path}/data")
    file.append(BIG)

    async def handle(_context: RequestContext, _body: memoryview) -> list[Chunk]:
        return [b"head", file.slice(0, len(BIG)), file.slice(0, 10)]

    async def scene() -> bytes:
        async with serving(handle, listeners=secured(in_place(identity))) as harness:
            return await (await harness.connect("SSL", client_of(identity))).ask(b"x")

    assert run(scene()) == b"head" + BIG + BIG[:10]
    file.close()
    assert file.descriptor == -1


def test_client_without_tls_does_not_affect_others(run: Run, identity: Identity) -> None:
    async def scene() -> tuple[bytes, bytes]:
        async with serving(listeners=secured(in_place(identity))) as harness:
            plain = await harness.connect("SSL")
            plain.send(request(1, b"in the clear"))
            peer = await harness.connect("SSL", client_of(identity))
            answer = await peer.ask(b"x")
            return (await plain.end())[7:], answer

    assert run(scene()) == (b"", b"x")


def test_unfinished_handshake_is_cancelled_by_a_stop(run: Run, identity: Identity) -> None:
    async def scene() -> float:
        async with serving(listeners=secured(in_place(identity))) as harness:
            await harness.connect("SSL")
            await harness.until_open(1)
            await turn()
            await harness.server.stop(1_000)
            return harness.ended("stop")

    assert run(scene()) == 1


def test_client_that_does_not_read_blocks_only_its_own_response(
    run: Run, identity: Identity
) -> None:
    async def handle(_context: RequestContext, body: memoryview) -> list[Chunk]:
        return [BIG * 8 if bytes(body) == b"big" else b"small"]

    async def scene() -> tuple[bytes, int]:
        settings = SocketServerSettings()
        async with serving(handle, settings, listeners=secured(in_place(identity))) as harness:
            slow = await harness.connect("SSL", client_of(identity))
            slow.send(*(request(number, b"big") for number in range(3)))
            quick = await harness.connect("SSL", client_of(identity))
            answer = await quick.ask(b"x")
            return answer, sum([len((await slow.answer())[1]) for _ in range(3)])

    assert run(scene()) == (b"small", 24 * len(BIG))


def test_key_and_certificate_may_be_in_one_file(identity: Identity, tmp_path: Path) -> None:
    (tmp_path / "both.pem").write_text(identity.key + identity.certificate)

    context = context_of(ssl_keystore_location=f"{tmp_path}/both.pem")

    assert context.verify_mode is ssl.CERT_NONE


def test_clients_may_have_to_show_a_certificate(identity: Identity) -> None:
    context = context_of(
        ssl_keystore_key=identity.key,
        ssl_keystore_certificate_chain=identity.certificate,
        ssl_truststore_certificates=identity.certificate,
        ssl_client_auth="required",
    )

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == 1


@pytest.mark.parametrize(
    "texts",
    (
        {},
        {"ssl_keystore_location": "/nowhere.pem"},
        {"ssl_keystore_key": "no key", "ssl_keystore_certificate_chain": "no certificate"},
    ),
    ids=["nothing", "no file", "no PEM"],
)
def test_unusable_keys_are_rejected_with_a_remedy(texts: dict[str, str]) -> None:
    with pytest.raises(SettingError, match=r"cannot be used: .*; give PEM"):
        context_of(**texts)


def test_file_range_is_read_and_encrypted_in_pieces(
    run: Run, identity: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = MemoryFiles()
    file = files.create("/data")
    file.append(BIG * 4)
    lengths: list[int] = []
    read = MemorySlice.read

    def noted(part: MemorySlice, start: int = 0, length: int | None = None) -> memoryview:
        lengths.append(part.length - start if length is None else length)
        return read(part, start, length)

    monkeypatch.setattr(MemorySlice, "read", noted)

    async def handle(_context: RequestContext, _body: memoryview) -> list[Chunk]:
        return [file.slice(0, 4 * len(BIG))]

    async def scene() -> bytes:
        async with serving(handle, listeners=secured(in_place(identity))) as harness:
            return await (await harness.connect("SSL", client_of(identity))).ask(b"")

    assert run(scene()) == BIG * 4
    assert max(lengths) == PIECE_BYTES


def test_certificate_that_was_rotated_is_shown_at_the_next_handshake(
    run: Run, identity: Identity, other_identity: Identity, tmp_path: Path
) -> None:
    path = tmp_path / "both.pem"
    path.write_text(identity.key + identity.certificate)
    texts = {"ssl.keystore.location": str(path)}
    configs = BrokerConfigs(1, [SettingSource("test", texts)])
    tls = ListenerTls(configs, "")

    async def scene() -> list[bytes]:
        listener = Listener(name="SSL", host="127.0.0.1", port=0, tls=tls.context)
        async with serving(listeners=(listener,)) as harness:
            before = await harness.connect("SSL", client_of(identity))
            path.write_text(other_identity.key + other_identity.certificate)
            configs.apply(ALL_BROKERS, texts)
            after = await harness.connect("SSL", client_of(other_identity))
            return [await peer.ask(b"x") for peer in (before, after)]

    assert run(scene()) == [b"x", b"x"]


def test_certificate_stays_if_the_new_one_is_unusable(
    identity: Identity, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "both.pem"
    path.write_text(identity.key + identity.certificate)
    configs = BrokerConfigs(1, [SettingSource("test", {"ssl.keystore.location": str(path)})])
    tls = ListenerTls(configs, "")
    before = tls.context()

    path.write_text("no certificate")
    configs.apply(ALL_BROKERS, {"max.connections": "7"})
    configs.apply(ALL_BROKERS, {"max.connections": "8"})

    assert tls.context() is before
    assert [record.getMessage() for record in caplog.records] == ["certificate not changed"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    (
        ("plain", "wrong_version_number"),
        ("http", "http_request"),
        ("no certificate", "peer_did_not_return_a_certificate"),
    ),
)
def test_handshake_that_fails_is_counted_by_reason_and_logged_once_a_second(
    run: Run, identity: Identity, caplog: pytest.LogCaptureFixture, kind: str, reason: str
) -> None:
    context = in_place(identity)
    context.verify_mode = ssl.CERT_REQUIRED if kind == "no certificate" else ssl.CERT_NONE

    async def scene() -> tuple[float, float]:
        async with serving(listeners=secured(context)) as harness:
            for _ in range(3):
                await fail_handshake(harness, kind, client_of(identity))
            counter = harness.metrics.counter("cordwood_tls_failures_total", reason)
            return counter.value, harness.ended("handshake")

    assert run(scene()) == (3, 3)
    lines = [EventFormatter(LOGFMT).format(record) for record in caplog.records]
    assert len(lines) == 1
    assert re.search(
        rf'level=WARN .* event="TLS handshake failed" peer=127.0.0.1:\d+ .* reason={reason}',
        lines[0],
    )


async def fail_handshake(harness: ServerHarness, kind: str, tls: ssl.SSLContext) -> None:
    """Connect in a way that a TLS listener rejects, and wait for the end."""
    if kind == "no certificate":
        try:
            peer = await harness.connect("SSL", tls)
        except OSError:
            return
        await ended_by_alert(peer)
        return
    peer = await harness.connect("SSL")
    peer.send(b"GET / HTTP/1.1\r\n\r\n" if kind == "http" else request(1, b"in the clear"))
    await peer.end()


async def ended_by_alert(peer: Peer) -> None:
    with suppress(ssl.SSLError):
        await peer.end()
