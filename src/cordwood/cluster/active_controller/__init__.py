"""The controller of a cluster at work: it performs the flows of `cluster.controller`.

Kafka: `KafkaController`, `ControllerEventManager`, `ControllerChannelManager`.

    active_controller           election, the role of the controller, one flow at a time
    controller_events           events, and the flow of each
    controller_event_queue      events that wait, each kind once
    flow_driver                 runs a flow
    effect_performer            effects of flows, in the store and in the queues of brokers
    controller_channel_manager  a queue of requests per broker
    broker_request_queue        one of these queues
    waiting_requests            requests that wait in it, merged by kind
    metadata_fan_out            the stream of changes, for the controller and for the broker

It may import client, channels, controller, zookeeper, and the layers below cluster.
"""
