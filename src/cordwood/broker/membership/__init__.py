"""This broker as a member of a cluster: what its controller decides, and what it reports.

broker_session        registration, in this session and in the next ones
replica_requests      the requests of the controller
controller_fence      rejects those of earlier controllers
replica_roles         LeaderAndIsr and StopReplica: roles and logs
metadata_updates      UpdateMetadata: the next image
followed_replicas     leaders and their addresses, for the fetchers
isr_maintenance       AlterPartition: followers that join and leave the in-sync replicas
controlled_shutdown   leaderships that move away before a stop
"""
