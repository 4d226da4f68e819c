"""Kafka: clients, how to reach it, and the event log on it."""
