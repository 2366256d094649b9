"""Replicas of this broker as the fetchers of the cluster change them."""
