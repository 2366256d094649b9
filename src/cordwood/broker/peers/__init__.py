"""The other brokers of the cluster, as this broker sends requests to them."""
