"""Exporters: each hook writes what one of them made, and imports it only when it is used."""
