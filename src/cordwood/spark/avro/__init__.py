"""Avro values in the Confluent wire format: schemas by id, decoded into Arrow."""
