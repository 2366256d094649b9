"""TLS context of a client."""

import ssl

from cordwood.client.settings import ClientSettings


def tls_context(settings: ClientSettings, given: ssl.SSLContext | None) -> ssl.SSLContext | None:
    """Return the given context, else the system default for `security.protocol=SSL`, else None."""
    if given is None and settings.security_protocol == "SSL":
        return ssl.create_default_context()
    return given
