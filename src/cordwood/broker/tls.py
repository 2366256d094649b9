"""What a listener encrypts with: keys and certificates in PEM, read into one value of `ssl`.

The standard library reads a private key from a file and from nowhere else. A key that was given in
place is therefore put, for that moment, into a file that nobody else may open.
"""

import ssl
import tempfile
from typing import Final

from cordwood.broker.configs import BrokerConfigs
from cordwood.core.errors import SettingError

_CLIENT_CERTIFICATES: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


def tls_of_listener(configs: BrokerConfigs, prefix: str) -> ssl.SSLContext:
    """Return what a listener encrypts with; its own keys begin with `prefix`.

    Raises SettingError for keys or certificates that are missing or are none.
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
            f"setting {prefix}ssl.keystore.location and its like cannot be used: {error}",
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
        raise ValueError("there is no key, or no certificate for it")
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
