"""TLS context of a listener, from keys and certificates in PEM (Kafka: `DefaultSslEngineFactory`).

The standard library reads private keys only from files. A key that is given as text is therefore
written to a temporary file that only this user can open, and removed at once.
"""

import ssl
import tempfile
from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.core.errors import SettingError

_CLIENT_CERTIFICATES: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def tls_of_listener(configs: BrokerConfigs, prefix: str) -> ssl.SSLContext:
    """Return the TLS context of a listener whose settings begin with `prefix`.

    Raises SettingError for missing or invalid keys and certificates.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    versions = sorted(_VERSIONS[name] for name in configs.words(f"{prefix}ssl.enabled.protocols"))
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    ciphers = configs.words(f"{prefix}ssl.cipher.suites")
    try:
        if ciphers:
            context.set_ciphers(":".join(ciphers))
        _load_identity(context, configs, prefix)
        _load_trust(context, configs, prefix)
    except (OSError, ValueError) as error:  # ssl's own errors are of OSError
        raise SettingError(
            f"settings {prefix}ssl.keystore.* or {prefix}ssl.truststore.* cannot be used: {error}",
            key=f"{prefix}ssl.keystore.location",
            remedy="give PEM with a private key, then its certificates, and the key's password",
        ) from error
    context.verify_mode = _CLIENT_CERTIFICATES[configs.text(f"{prefix}ssl.client.auth")]
    return context


def _load_identity(context: ssl.SSLContext, configs: BrokerConfigs, prefix: str) -> None:
    password = configs.secret(f"{prefix}ssl.key.password") or ""
    location = configs.text(f"{prefix}ssl.keystore.location")
    if location:
        context.load_cert_chain(location, password=password)
        return
    key = configs.secret(f"{prefix}ssl.keystore.key")
    chain = configs.secret(f"{prefix}ssl.keystore.certificate.chain")
    if not key or not chain:
        raise ValueError("the key or its certificate chain is missing")
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{key}\n{chain}\n")
        file.flush()
        context.load_cert_chain(file.name, password=password)


def _load_trust(context: ssl.SSLContext, configs: BrokerConfigs, prefix: str) -> None:
    location = configs.text(f"{prefix}ssl.truststore.location")
    certificates = configs.secret(f"{prefix}ssl.truststore.certificates")
    if location:
        context.load_verify_locations(cafile=location)
    elif certificates:
        context.load_verify_locations(cadata=certificates)
