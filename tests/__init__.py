"""Tests of onnx-align-pass."""
