"""Measures this project beside other tools: `python -m onnx_align_pass.bench`.

Data flows one way: `workloads` build models, `peers` repack them, `timing` and `memory` measure,
`table` renders. Nothing is imported here, so that a child that measures memory starts small.
"""

__all__: list[str] = []
