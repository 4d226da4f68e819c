"""Spans of what was done, as traces for OpenTelemetry and Perfetto."""
