"""The reader of .onnx files: wire format, skeleton, walk, numbers, and the way back."""
