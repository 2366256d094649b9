"""Kafka's wire protocol, sans-IO: messages declared once, codecs compiled on first use, framing.

Promises: record sets pass through uncopied, every length is held against the bytes at hand before
anything is allocated, and nothing but the package's own errors comes out, whatever the bytes. May
import `core`; a record set is an opaque buffer here, and no socket is ever touched. Names are
imported from the modules, so that whoever needs a header does not wait for messages.
"""
