"""Who may come in and what they may do: SASL, tokens, certificates, the authorizer."""

from typing import Final

from cordwood.core.settings import Scope, Setting, SettingTable, SettingType

ACCESS: Final = SettingTable(
    (
        Setting(
            name="sasl.enabled.mechanisms",
            type=SettingType.LIST,
            default=(),
            doc="The mechanisms that listeners with SASL offer.",
            scope=Scope.BROKER,
            one_of=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
        ),
        Setting(
            name="sasl.mechanism.inter.broker.protocol",
            type=SettingType.STRING,
            default="SCRAM-SHA-512",
            doc="The mechanism between brokers.",
            scope=Scope.BROKER,
            one_of=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"),
        ),
        Setting(
            name="sasl.jaas.config",
            type=SettingType.PASSWORD,
            default=None,
            doc=(
                "The users of PLAIN, or what a broker logs in with, as a login module and its "
                "options."
            ),
            scope=Scope.BROKER,
        ),
        Setting(
            name="sasl.server.max.receive.size",
            type=SettingType.INT,
            default=524_288,
            doc="The largest message before somebody is authenticated.",
        ),
        Setting(
            name="connections.max.reauth.ms",
            type=SettingType.LONG,
            default=0,
            doc="How long an authentication counts; 0 is as long as the connection.",
        ),
        Setting(
            name="connection.failed.authentication.delay.ms",
            type=SettingType.INT,
            default=100,
            doc="How long the answer to a failed authentication is held back.",
            at_least=0,
        ),
        Setting(
            name="sasl.oauthbearer.jwks.endpoint.url",
            type=SettingType.STRING,
            default=None,
            doc="Where the keys are that tokens are signed with.",
        ),
        Setting(
            name="sasl.oauthbearer.jwks.endpoint.refresh.ms",
            type=SettingType.LONG,
            default=3_600_000,
            doc="How often these are fetched anew.",
        ),
        Setting(
            name="sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
            type=SettingType.LONG,
            default=100,
            doc="How long to wait before they are fetched again after a failure.",
        ),
        Setting(
            name="sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
            type=SettingType.LONG,
            default=10_000,
            doc="The longest such wait.",
        ),
        Setting(
            name="sasl.oauthbearer.expected.audience",
            type=SettingType.LIST,
            default=(),
            doc="Whom a token has to be meant for; any of these.",
        ),
        Setting(
            name="sasl.oauthbearer.expected.issuer",
            type=SettingType.STRING,
            default=None,
            doc="Who has to have issued a token.",
        ),
        Setting(
            name="sasl.oauthbearer.clock.skew.seconds",
            type=SettingType.INT,
            default=30,
            doc="How far the issuer's clock may be off.",
        ),
        Setting(
            name="sasl.oauthbearer.scope.claim.name",
            type=SettingType.STRING,
            default="scope",
            doc="The claim that holds a token's scope.",
        ),
        Setting(
            name="sasl.oauthbearer.sub.claim.name",
            type=SettingType.STRING,
            default="sub",
            doc="The claim that holds a token's principal.",
        ),
        Setting(
            name="delegation.token.secret.key",
            type=SettingType.PASSWORD,
            default=None,
            doc="What delegation tokens are signed with, the same at all brokers; none, no tokens.",
        ),
        Setting(
            name="delegation.token.max.lifetime.ms",
            type=SettingType.LONG,
            default=604_800_000,
            doc="How long a token lives at most, however often it is renewed.",
            at_least=1,
        ),
        Setting(
            name="delegation.token.expiry.time.ms",
            type=SettingType.LONG,
            default=86_400_000,
            doc="How long a token lives until it has to be renewed.",
            at_least=1,
        ),
        Setting(
            name="delegation.token.expiry.check.interval.ms",
            type=SettingType.LONG,
            default=3_600_000,
            doc="How often expired tokens are removed.",
            at_least=1,
        ),
        Setting(
            name="authorizer.class.name",
            type=SettingType.STRING,
            default="",
            doc="The authorizer: empty for none, Kafka's name for the one that is built in.",
        ),
        Setting(
            name="super.users",
            type=SettingType.STRING,
            default="",
            doc="Principals that may do everything, by semicolons.",
        ),
        Setting(
            name="allow.everyone.if.no.acl.found",
            type=SettingType.BOOLEAN,
            default=False,
            doc="Whether what no rule speaks of is open to all.",
        ),
        Setting(
            name="ssl.principal.mapping.rules",
            type=SettingType.STRING,
            default="DEFAULT",
            doc="How the name in a certificate becomes a principal.",
        ),
        Setting(
            name="ssl.allow.dn.changes",
            type=SettingType.BOOLEAN,
            default=False,
            doc="Whether a new certificate may name another subject.",
        ),
        Setting(
            name="ssl.allow.san.changes",
            type=SettingType.BOOLEAN,
            default=False,
            doc="Whether a new certificate may name fewer hosts.",
        ),
    )
)
