"""Alignment at the end of other people's exporters, each imported only when its hook is used."""
