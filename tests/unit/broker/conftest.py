"""Fixtures of the broker's tests."""

import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.unit.broker.server_samples import run

__all__ = ["run"]


class Identity(NamedTuple):
    """A private key with a self-signed certificate for 127.0.0.1."""

    key: str
    certificate: str


@pytest.fixture(scope="session")
def other_identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """Return another key and certificate made for this test run."""
    return _new_identity(tmp_path_factory.mktemp("other-tls"))


@pytest.fixture(scope="session")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """Return a key and a certificate made for this test run."""
    return _new_identity(tmp_path_factory.mktemp("tls"))


def _new_identity(folder: Path) -> Identity:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return Identity(Path(key).read_text(), Path(certificate).read_text())
