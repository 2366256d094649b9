"""Settings of TLS on listeners and between brokers; keys and certificates are PEM (Kafka:
`SslConfigs`).
"""

from typing import Final

from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType

TLS: Final = SettingTable(
    (
        Setting(
            name="ssl.keystore.type",
            type=SettingType.STRING,
            default="PEM",
            doc="The format of the broker's key and certificates.",
            scope=SettingScope.BROKER,
            one_of=("PEM",),
        ),
        Setting(
            name="ssl.keystore.location",
            type=SettingType.STRING,
            default=None,
            doc="The file with the broker's private key and its certificate chain.",
            scope=SettingScope.BROKER,
        ),
        Setting(
            name="ssl.keystore.password",
            type=SettingType.PASSWORD,
            default=None,
            doc="The file's password; a PEM file has none.",
            scope=SettingScope.BROKER,
        ),
        Setting(
            name="ssl.keystore.key",
            type=SettingType.PASSWORD,
            default=None,
            doc="The broker's private key, as text.",
            scope=SettingScope.BROKER,
        ),
        Setting(
            name="ssl.keystore.certificate.chain",
            type=SettingType.PASSWORD,
            default=None,
            doc="The broker's certificate chain, as text.",
            scope=SettingScope.BROKER,
        ),
        Setting(
            name="ssl.key.password",
            type=SettingType.PASSWORD,
            default=None,
            doc="The password of the private key.",
            scope=SettingScope.BROKER,
        ),
        Setting(
            name="ssl.truststore.type",
            type=SettingType.STRING,
            default="PEM",
            doc="The format of the trusted certificates.",
            scope=SettingScope.BROKER,
            one_of=("PEM",),
        ),
        Setting(
            name="ssl.truststore.location",
            type=SettingType.STRING,
            default=None,
            doc="The file with the trusted certificates.",
            scope=SettingScope.BROKER,
        ),
        Setting(
            name="ssl.truststore.password",
            type=SettingType.PASSWORD,
            default=None,
            doc="The file's password; a PEM file has none.",
            scope=SettingScope.BROKER,
        ),
        Setting(
            name="ssl.truststore.certificates",
            type=SettingType.PASSWORD,
            default=None,
            doc="The trusted certificates, as text.",
            scope=SettingScope.BROKER,
        ),
        Setting(
            name="ssl.client.auth",
            type=SettingType.STRING,
            default="none",
            doc="Whether client certificates are required, requested or not used.",
            scope=SettingScope.BROKER,
            one_of=("required", "requested", "none"),
        ),
        Setting(
            name="ssl.enabled.protocols",
            type=SettingType.LIST,
            default=("TLSv1.2", "TLSv1.3"),
            doc="The supported versions of TLS.",
            scope=SettingScope.BROKER,
            one_of=("TLSv1.2", "TLSv1.3"),
        ),
        Setting(
            name="ssl.cipher.suites",
            type=SettingType.LIST,
            default=(),
            doc="The allowed cipher suites; by default the system's.",
            scope=SettingScope.BROKER,
        ),
    )
)
