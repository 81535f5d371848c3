"""onnx-ir passes by name: which there are, and each as a text and back."""
