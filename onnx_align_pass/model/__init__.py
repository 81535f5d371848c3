"""The .onnx file: read without its weights, walked, and written again. The only room with onnx."""
