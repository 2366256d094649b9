"""Connections, requests and cluster metadata of a client (Java: `NetworkClient`)."""
