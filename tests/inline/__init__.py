"""Weights brought back into the model file."""
