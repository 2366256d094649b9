"""Settings of Kerberos and of logins with OAuth tokens (Kafka: `SaslConfigs`)."""

from typing import Final

from cordwood.broker.settings.ignored.ignored_settings import ignored, no_effect
from cordwood.core.settings import SettingScope as Scope
from cordwood.core.settings import SettingType as Type

AUTHENTICATION: Final = (
    no_effect(
        "Kerberos is not supported",
        ignored(
            "sasl.kerberos.kinit.cmd", Type.STRING, default="/usr/bin/kinit", scope=Scope.BROKER
        ),
        ignored(
            "sasl.kerberos.min.time.before.relogin", Type.LONG, default=60_000, scope=Scope.BROKER
        ),
        ignored(
            "sasl.kerberos.principal.to.local.rules",
            Type.LIST,
            default=("DEFAULT",),
            scope=Scope.BROKER,
        ),
        ignored("sasl.kerberos.service.name", Type.STRING, scope=Scope.BROKER),
        ignored("sasl.kerberos.ticket.renew.jitter", Type.DOUBLE, default=0.05, scope=Scope.BROKER),
        ignored(
            "sasl.kerberos.ticket.renew.window.factor", Type.DOUBLE, default=0.8, scope=Scope.BROKER
        ),
    ),
    no_effect(
        "brokers do not log in with OAuth tokens",
        ignored("sasl.login.connect.timeout.ms", Type.INT),
        ignored("sasl.login.read.timeout.ms", Type.INT),
        ignored("sasl.login.refresh.buffer.seconds", Type.SHORT, default=300, scope=Scope.BROKER),
        ignored(
            "sasl.login.refresh.min.period.seconds", Type.SHORT, default=60, scope=Scope.BROKER
        ),
        ignored("sasl.login.refresh.window.factor", Type.DOUBLE, default=0.8, scope=Scope.BROKER),
        ignored("sasl.login.refresh.window.jitter", Type.DOUBLE, default=0.05, scope=Scope.BROKER),
        ignored("sasl.login.retry.backoff.max.ms", Type.LONG, default=10_000),
        ignored("sasl.login.retry.backoff.ms", Type.LONG, default=100),
        ignored("sasl.oauthbearer.assertion.algorithm", Type.STRING, default="RS256"),
        ignored("sasl.oauthbearer.assertion.claim.aud", Type.STRING),
        ignored(
            "sasl.oauthbearer.assertion.claim.exp.seconds",
            Type.INT,
            default=300,
            at_least=0,
            at_most=86_400,
        ),
        ignored("sasl.oauthbearer.assertion.claim.iss", Type.STRING),
        ignored("sasl.oauthbearer.assertion.claim.jti.include", Type.BOOLEAN, default=False),
        ignored(
            "sasl.oauthbearer.assertion.claim.nbf.seconds",
            Type.INT,
            default=60,
            at_least=0,
            at_most=3600,
        ),
        ignored("sasl.oauthbearer.assertion.claim.sub", Type.STRING),
        ignored("sasl.oauthbearer.assertion.file", Type.STRING),
        ignored("sasl.oauthbearer.assertion.private.key.file", Type.STRING),
        ignored("sasl.oauthbearer.assertion.private.key.passphrase", Type.PASSWORD),
        ignored("sasl.oauthbearer.assertion.template.file", Type.STRING),
        ignored("sasl.oauthbearer.client.credentials.client.id", Type.STRING),
        ignored("sasl.oauthbearer.client.credentials.client.secret", Type.PASSWORD),
        ignored("sasl.oauthbearer.scope", Type.STRING),
        ignored("sasl.oauthbearer.token.endpoint.url", Type.STRING),
    ),
)
