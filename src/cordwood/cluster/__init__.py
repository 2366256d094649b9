"""Cluster: the replicas of partitions on several brokers, their leaders and their controller.

    channels     requests to other brokers
    controller   decisions of the controller, as values
    fetchers     the copying of partitions from their leaders
    partition    decisions about one replicated partition, as values
    zookeeper    the metadata of the cluster in Apache ZooKeeper

It may import client, storage and everything below; the broker performs what is decided here.
"""
