"""Handlers: what a broker does when it is asked, an async function an API, by subject.

A handler answers errors where Kafka answers them, per partition, per topic or at the top, and
decides nothing that a module of its own could decide. A module may also have

    refused(request, error, *, version)   the answer to a request that raised a `KafkaError`
    unsupported()                         the answer, as version 0, to a version that is not served

Modules are imported when they are first asked for, by `broker.dispatch`.
"""
