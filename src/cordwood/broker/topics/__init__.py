"""Topic creation, deletion, growth and configuration changes (Kafka:
`ReplicationControlManager`).
"""
