"""Settings of authentication and authorization: SASL, tokens, certificates, the authorizer."""

from typing import Final

from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType

ACCESS: Final = SettingTable(
    (
        Setting(
            name="sasl.enabled.mechanisms",
            type=SettingType.LIST,
            default=(),
            doc="The SASL mechanisms of the listeners.",
            scope=SettingScope.BROKER,
            one_of=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
        ),
        Setting(
            name="sasl.mechanism.inter.broker.protocol",
            type=SettingType.STRING,
            default="SCRAM-SHA-512",
            doc="The SASL mechanism between brokers.",
            scope=SettingScope.BROKER,
            one_of=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
        ),
        Setting(
            name="sasl.jaas.config",
            type=SettingType.PASSWORD,
            default=None,
            doc=(
                "The users of PLAIN, or the broker's own credentials, as a login module with "
                "its options."
            ),
            scope=SettingScope.BROKER,
        ),
        Setting(
            name="sasl.server.max.receive.size",
            type=SettingType.INT,
            default=524_288,
            doc="The largest message before authentication.",
        ),
        Setting(
            name="connections.max.reauth.ms",
            type=SettingType.LONG,
            default=0,
            doc="The time after which a client has to authenticate again; 0 means never.",
        ),
        Setting(
            name="connection.failed.authentication.delay.ms",
            type=SettingType.INT,
            default=100,
            doc="The delay of the response to a failed authentication.",
            at_least=0,
        ),
        Setting(
            name="sasl.oauthbearer.jwks.endpoint.url",
            type=SettingType.STRING,
            default=None,
            doc="The URL of the keys that tokens are verified with.",
        ),
        Setting(
            name="sasl.oauthbearer.jwks.endpoint.refresh.ms",
            type=SettingType.LONG,
            default=3_600_000,
            doc="The interval between refreshes of these keys.",
        ),
        Setting(
            name="sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
            type=SettingType.LONG,
            default=100,
            doc="The backoff after a failed refresh.",
        ),
        Setting(
            name="sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
            type=SettingType.LONG,
            default=10_000,
            doc="The longest such backoff.",
        ),
        Setting(
            name="sasl.oauthbearer.expected.audience",
            type=SettingType.LIST,
            default=(),
            doc="The accepted audiences of tokens.",
        ),
        Setting(
            name="sasl.oauthbearer.expected.issuer",
            type=SettingType.STRING,
            default=None,
            doc="The required issuer of tokens.",
        ),
        Setting(
            name="sasl.oauthbearer.clock.skew.seconds",
            type=SettingType.INT,
            default=30,
            doc="The allowed difference to the issuer's clock.",
        ),
        Setting(
            name="sasl.oauthbearer.scope.claim.name",
            type=SettingType.STRING,
            default="scope",
            doc="The claim that contains a token's scope.",
        ),
        Setting(
            name="sasl.oauthbearer.sub.claim.name",
            type=SettingType.STRING,
            default="sub",
            doc="The claim that contains a token's principal.",
        ),
        Setting(
            name="delegation.token.secret.key",
            type=SettingType.PASSWORD,
            default=None,
            doc=(
                "The key that signs delegation tokens, the same on all brokers; without it "
                "there are no tokens."
            ),
        ),
        Setting(
            name="delegation.token.max.lifetime.ms",
            type=SettingType.LONG,
            default=604_800_000,
            doc="The longest lifetime of a token, including renewals.",
            at_least=1,
        ),
        Setting(
            name="delegation.token.expiry.time.ms",
            type=SettingType.LONG,
            default=86_400_000,
            doc="The lifetime of a token without a renewal.",
            at_least=1,
        ),
        Setting(
            name="delegation.token.expiry.check.interval.ms",
            type=SettingType.LONG,
            default=3_600_000,
            doc="The interval between removals of expired tokens.",
            at_least=1,
        ),
        Setting(
            name="authorizer.class.name",
            type=SettingType.STRING,
            default="",
            doc="The authorizer; only empty, for none, is accepted.",
        ),
        Setting(
            name="super.users",
            type=SettingType.STRING,
            default="",
            doc="The principals with all permissions; only empty, for none, is accepted.",
            is_internal=True,
        ),
        Setting(
            name="allow.everyone.if.no.acl.found",
            type=SettingType.BOOLEAN,
            default=False,
            doc="Whether a resource without an ACL is open to all clients.",
            is_internal=True,
        ),
        Setting(
            name="ssl.principal.mapping.rules",
            type=SettingType.STRING,
            default="DEFAULT",
            doc="The rules that map a certificate's name to a principal.",
        ),
        Setting(
            name="ssl.allow.dn.changes",
            type=SettingType.BOOLEAN,
            default=False,
            doc="Whether a new certificate may have another subject.",
        ),
        Setting(
            name="ssl.allow.san.changes",
            type=SettingType.BOOLEAN,
            default=False,
            doc="Whether a new certificate may name fewer hosts.",
        ),
    )
)
