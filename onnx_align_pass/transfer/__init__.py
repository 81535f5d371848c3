"""Bytes from descriptor to descriptor, staged and published. Knows no graph, no onnx, no numpy."""
