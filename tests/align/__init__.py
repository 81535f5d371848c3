"""From file to file: the whole way, on real and odd models."""
