"""The onnx-ir side: tensors of an ir.Model found, tagged, and pointed at files. No file I/O."""
