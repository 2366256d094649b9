"""TLS on listeners and between brokers. Keys and certificates are PEM, in files or in place."""

from typing import Final

from cordwood.core.settings import Scope, Setting, SettingTable, SettingType

TLS: Final = SettingTable(
    (
        Setting(
            name="ssl.keystore.type",
            type=SettingType.STRING,
            default="PEM",
            doc="The format of what identifies the broker.",
            scope=Scope.BROKER,
            one_of=("PEM",),
        ),
        Setting(
            name="ssl.keystore.location",
            type=SettingType.STRING,
            default=None,
            doc="The file with the broker's private key and its certificate chain.",
            scope=Scope.BROKER,
        ),
        Setting(
            name="ssl.keystore.password",
            type=SettingType.PASSWORD,
            default=None,
            doc="The file's password; a PEM file has none.",
            scope=Scope.BROKER,
        ),
        Setting(
            name="ssl.keystore.key",
            type=SettingType.PASSWORD,
            default=None,
            doc="The broker's private key itself.",
            scope=Scope.BROKER,
        ),
        Setting(
            name="ssl.keystore.certificate.chain",
            type=SettingType.PASSWORD,
            default=None,
            doc="The broker's certificate chain itself.",
            scope=Scope.BROKER,
        ),
        Setting(
            name="ssl.key.password",
            type=SettingType.PASSWORD,
            default=None,
            doc="The password that the private key is encrypted with.",
            scope=Scope.BROKER,
        ),
        Setting(
            name="ssl.truststore.type",
            type=SettingType.STRING,
            default="PEM",
            doc="The format of what says whom to trust.",
            scope=Scope.BROKER,
            one_of=("PEM",),
        ),
        Setting(
            name="ssl.truststore.location",
            type=SettingType.STRING,
            default=None,
            doc="The file with the certificates of whom to trust.",
            scope=Scope.BROKER,
        ),
        Setting(
            name="ssl.truststore.password",
            type=SettingType.PASSWORD,
            default=None,
            doc="The file's password; a PEM file has none.",
            scope=Scope.BROKER,
        ),
        Setting(
            name="ssl.truststore.certificates",
            type=SettingType.PASSWORD,
            default=None,
            doc="The certificates of whom to trust themselves.",
            scope=Scope.BROKER,
        ),
        Setting(
            name="ssl.client.auth",
            type=SettingType.STRING,
            default="none",
            doc="Whether clients have to show a certificate, are asked for one, or neither.",
            scope=Scope.BROKER,
            one_of=("required", "requested", "none"),
        ),
        Setting(
            name="ssl.protocol",
            type=SettingType.STRING,
            default="TLSv1.3",
            doc="The newest version of TLS that is spoken.",
            scope=Scope.BROKER,
            one_of=("TLSv1.2", "TLSv1.3"),
        ),
        Setting(
            name="ssl.enabled.protocols",
            type=SettingType.LIST,
            default=("TLSv1.2", "TLSv1.3"),
            doc="The versions of TLS that are spoken.",
            scope=Scope.BROKER,
            one_of=("TLSv1.2", "TLSv1.3"),
        ),
        Setting(
            name="ssl.cipher.suites",
            type=SettingType.LIST,
            default=(),
            doc="The ciphers that are taken; none named are those of the system.",
            scope=Scope.BROKER,
        ),
    )
)
