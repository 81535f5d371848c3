"""Tests against other people's exporters; each skips by name where its exporter is not there."""
