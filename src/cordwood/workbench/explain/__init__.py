"""Forecast of what retention and the cleaner will do to a log, and when."""
