"""Encryption is what was asked for."""

import ssl

from cordwood.client.settings import ClientSettings
from cordwood.client.trust import tls_of

PLAIN = ClientSettings(bootstrap_servers=("a:1",))


def test_nothing_is_encrypted_unless_asked() -> None:
    assert tls_of(PLAIN, None) is None


def test_given_context_counts() -> None:
    given = ssl.create_default_context()

    assert tls_of(PLAIN, given) is given


def test_ssl_checks_certificates() -> None:
    made = tls_of(ClientSettings(bootstrap_servers=("a:1",), security_protocol="SSL"), None)

    assert made is not None
    assert made.verify_mode is ssl.CERT_REQUIRED
