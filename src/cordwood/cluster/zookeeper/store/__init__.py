"""Operations on the cluster's metadata, and a stream of their changes (Kafka: `KafkaZkClient`).

    zookeeper_store    the parts below, over one client
    metadata_events    the stream of changes

Each operation retries until the session has a connection. It raises SessionExpiredError once the
session is over, and a controller's write StaleControllerEpochError once another one is elected.
"""
