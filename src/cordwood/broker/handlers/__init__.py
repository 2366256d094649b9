"""Request handlers by subject, one async function an API (Kafka: `KafkaApis`).

A handler puts errors where Kafka puts them: per partition, per topic, or at the top level. Rules
are in modules of their own, not in handlers. A handler module may also have

    error_response(request, error, *, version)   the response to a request that raised a KafkaError
    unsupported_version_response()               the response, in version 0, to other versions

`broker.dispatch` imports a module at the first request for it.
"""
