"""Settings of Java classes, metrics, threads and purgatories (Kafka: `MetricConfigs`)."""

from typing import Final

from cordwood.broker.settings.ignored.ignored_settings import ignored, no_effect
from cordwood.core.settings import SettingScope as Scope
from cordwood.core.settings import SettingType as Type

JAVA_RUNTIME: Final = (
    no_effect(
        "Java classes cannot be loaded",
        ignored("alter.config.policy.class.name", Type.CLASS),
        ignored("client.quota.callback.class", Type.CLASS),
        ignored("config.providers", Type.LIST, default=(), scope=Scope.CLUSTER),
        ignored("create.topic.policy.class.name", Type.CLASS),
        ignored(
            "principal.builder.class",
            Type.CLASS,
            default="org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
            scope=Scope.BROKER,
        ),
        ignored("sasl.client.callback.handler.class", Type.CLASS),
        ignored("sasl.login.callback.handler.class", Type.CLASS),
        ignored("sasl.login.class", Type.CLASS),
        ignored(
            "sasl.oauthbearer.jwt.retriever.class",
            Type.CLASS,
            default="org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
        ),
        ignored(
            "sasl.oauthbearer.jwt.validator.class",
            Type.CLASS,
            default="org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
        ),
        ignored("sasl.server.callback.handler.class", Type.CLASS),
        ignored("security.providers", Type.STRING),
        ignored("ssl.engine.factory.class", Type.CLASS, scope=Scope.BROKER),
        ignored("ssl.keymanager.algorithm", Type.STRING, default="SunX509", scope=Scope.BROKER),
        ignored("ssl.provider", Type.STRING, scope=Scope.BROKER),
        ignored("ssl.secure.random.implementation", Type.STRING, scope=Scope.BROKER),
        ignored("ssl.trustmanager.algorithm", Type.STRING, default="PKIX", scope=Scope.BROKER),
    ),
    no_effect(
        "listeners have the versions of ssl.enabled.protocols, as in Kafka",
        ignored(
            "ssl.protocol",
            Type.STRING,
            default="TLSv1.3",
            scope=Scope.BROKER,
            one_of=("TLSv1.2", "TLSv1.3"),
        ),
    ),
    no_effect(
        "one thread handles requests, and a pool runs blocking calls",
        ignored("background.threads", Type.INT, default=10, scope=Scope.CLUSTER, at_least=1),
        ignored("group.coordinator.background.threads", Type.INT, default=2, at_least=1),
        ignored("group.coordinator.threads", Type.INT, default=4, at_least=1),
        ignored("num.io.threads", Type.INT, default=8, scope=Scope.CLUSTER, at_least=1),
        ignored("num.network.threads", Type.INT, default=3, scope=Scope.CLUSTER, at_least=1),
        ignored("queued.max.requests", Type.INT, default=500, at_least=1),
    ),
    no_effect(
        "every directory accepts new partitions",
        ignored("cordoned.log.dirs", Type.LIST, default=(), scope=Scope.BROKER),
    ),
    no_effect(
        "waiting requests are completed by events, without a purgatory",
        ignored("delete.records.purgatory.purge.interval.requests", Type.INT, default=1),
        ignored("fetch.purgatory.purge.interval.requests", Type.INT, default=1000),
        ignored("producer.purgatory.purge.interval.requests", Type.INT, default=1000),
    ),
    no_effect(
        "metrics are served at /metrics only",
        ignored("kafka.metrics.polling.interval.secs", Type.INT, default=10, at_least=1),
        ignored("kafka.metrics.reporters", Type.LIST, default=()),
        ignored(
            "metric.reporters",
            Type.LIST,
            default=("org.apache.kafka.common.metrics.JmxReporter",),
            scope=Scope.CLUSTER,
        ),
        ignored("metrics.num.samples", Type.INT, default=2, at_least=1),
        ignored("metrics.recording.level", Type.STRING, default="INFO"),
        ignored("metrics.sample.window.ms", Type.LONG, default=30_000, at_least=1),
        ignored("telemetry.max.bytes", Type.INT, default=1_048_576, at_least=1),
    ),
    no_effect(
        "a connection to another broker has the timeout of its request",
        ignored("socket.connection.setup.timeout.max.ms", Type.LONG, default=30_000),
        ignored("socket.connection.setup.timeout.ms", Type.LONG, default=10_000),
    ),
    no_effect(
        "all supported versions are stable",
        ignored("unstable.api.versions.enable", Type.BOOLEAN, default=False, is_internal=True),
        ignored("unstable.feature.versions.enable", Type.BOOLEAN, default=False, is_internal=True),
    ),
)
