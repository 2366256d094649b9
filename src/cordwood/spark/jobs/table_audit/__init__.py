"""The job `audit`: whether a table holds each offset of a log exactly once."""
