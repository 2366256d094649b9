"""Cluster: the replicas of partitions on several brokers, their leaders and their controller.

    controller   decisions of the controller, as values
    partition    decisions about one replicated partition, as values
    zookeeper    the metadata of the cluster in Apache ZooKeeper

It may import client, storage and everything below; the broker performs what is decided here.
"""
