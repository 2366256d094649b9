"""TLS contexts by setting and argument."""

import ssl

from cordwood.client.network.tls import tls_context
from cordwood.client.settings import ClientSettings

PLAIN = ClientSettings(bootstrap_servers=("a:1",))


def test_connection_is_plaintext_by_default() -> None:
    assert tls_context(PLAIN, None) is None


def test_given_context_is_used() -> None:
    given = ssl.create_default_context()

    assert tls_context(PLAIN, given) is given


def test_ssl_checks_certificates() -> None:
    made = tls_context(ClientSettings(bootstrap_servers=("a:1",), security_protocol="SSL"), None)

    assert made is not None
    assert made.verify_mode is ssl.CERT_REQUIRED
