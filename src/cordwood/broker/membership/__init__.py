"""This broker as a member of a cluster: what its controller decides, and what it reports.

controller_fence    rejects requests of earlier controllers
metadata_updates    UpdateMetadata: the next image
replica_changes     LeaderAndIsr and StopReplica: roles and logs
isr_maintenance     AlterPartition: followers that join and leave the in-sync replicas
cluster_member      registration, session, controller; start and controlled shutdown
"""
