"""TLS of a listener, from keys and certificates in PEM (Kafka: `SslFactory`).

A change of the settings, or an alteration that names the same file again, takes effect at the next
handshake. Open connections keep their certificate, as in Kafka.

The standard library reads private keys only from files. A key that is given as text is therefore
written to a temporary file that only this user can open, and removed at once.
"""

import logging
import ssl
import tempfile
from pathlib import Path
from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.listeners import listeners_of
from cordwood.broker.settings.tls import TLS
from cordwood.core.errors import InvalidRequestError, SettingError
from cordwood.core.settings import SettingValue
from cordwood.observability.logs import fields

_CLIENT_CERTIFICATES: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_FILES: Final = ("ssl.keystore.location", "ssl.truststore.location")

_log = logging.getLogger(__name__)


class ListenerTls:
    """The current TLS context of a listener; raises SettingError if the first one is unusable."""

    def __init__(self, configs: BrokerConfigs, prefix: str) -> None:
        self._configs = configs
        self._prefix = prefix
        self._loaded = self._inputs()
        self._context = tls_of_listener(configs, prefix)
        configs.on_apply(self._reload)

    def context(self) -> ssl.SSLContext:
        """Return the context of the next handshake."""
        return self._context

    def _reload(self) -> None:
        """Load changed settings and files; the last usable context stays if they are unusable."""
        inputs = self._inputs()
        if inputs == self._loaded:
            return
        self._loaded = inputs
        try:
            self._context = tls_of_listener(self._configs, self._prefix)
        except SettingError as error:
            _log.error("certificate not changed", extra=fields(reason=str(error)))
        else:
            _log.info("certificate changed", extra=fields(settings=f"{self._prefix}ssl"))

    def _inputs(self) -> tuple[SettingValue | tuple[int, ...], ...]:
        """Return the settings, and the identity of each file."""
        values = (self._configs.value(f"{self._prefix}{each.name}") for each in TLS)
        files = (self._configs.text(f"{self._prefix}{name}") for name in _FILES)
        return (*values, *map(_stamp, files))


def _stamp(path: str) -> tuple[int, ...]:
    """Return numbers that change with a file's content; none if there is no file."""
    try:
        found = Path(path).stat()
    except OSError:
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def check_tls(planned: BrokerConfigs, _current: BrokerConfigs) -> None:
    """Reject altered keys and certificates that cannot be used (Kafka: `SslFactory`)."""
    for each in listeners_of(planned).listeners:
        if not each.is_secure or not planned.altered_names(f"{each.key_prefix}ssl."):
            continue
        try:
            tls_of_listener(planned, each.key_prefix)
        except SettingError as error:
            raise InvalidRequestError(
                f"Validation of dynamic config update of SSLFactory failed: {error.problem}"
            ) from error


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
