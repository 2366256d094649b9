"""Which certificates a client believes."""

import ssl

from cordwood.client.settings import ClientSettings


def tls_of(settings: ClientSettings, given: ssl.SSLContext | None) -> ssl.SSLContext | None:
    """Return how to encrypt: as given, as this machine does where SSL is asked for, or not."""
    if given is None and settings.security_protocol == "SSL":
        return ssl.create_default_context()
    return given
