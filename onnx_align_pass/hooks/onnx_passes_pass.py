"""The pass that onnx-passes finds when its configuration imports this module.

Nothing else imports it (`hooks.onnx_passes.register` does, for programs): onnx-passes is imported
at its top.
"""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnx_passes import passes

from onnx_align_pass.hooks.onnx_passes import NAME, SECTION, write_request
from onnx_align_pass.saving import save

__all__ = ["WriteAligned"]


@passes.register(NAME)
class WriteAligned(passes.base.Analysis):
    """Writes the model with aligned weights to the path of its section; the model is untouched.

    Requires: the configuration has the section (`write_request` says which).
    Ensures: the file is there, and what was done is in the state, as `onnx_align`.
    """

    def requires(self, model: ir.Model) -> None:
        """Refuse a configuration that says no path before anything is written."""
        super().requires(model)
        write_request(self.config)

    def call(self, model: ir.Model) -> Any:
        """Write it."""
        request = write_request(self.config)
        report = save(
            model,
            request.path,
            storage=request.storage,
            layout=request.layout,
            verify=request.verify,
            force=request.force,
            durable=request.durable,
        )
        self.state_dict[SECTION] = report.to_json()
        return ir.passes.PassResult(model, modified=False)
