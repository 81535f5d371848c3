"""Real exporters, end to end; each group of tests needs one of them installed."""
