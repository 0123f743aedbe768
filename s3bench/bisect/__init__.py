"""Searches for the first version that changed a metric, with the gate as its test."""
