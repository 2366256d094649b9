"""Kafka's wire protocol, sans-IO: message declarations, codecs compiled on first use, framing.

Promises: record sets are never copied. Every length is checked against the available bytes before
any allocation. Invalid bytes raise only the package's own errors. May import `core`; a record set
is an opaque buffer here, and sockets are never used. Names are imported from the modules, so that
the import of a header does not import messages.
"""
