"""From every tensor of a model to a proven plan; contents are read only where `dedupe` asks."""

from __future__ import annotations

from collections.abc import Sequence

from onnx_align_pass.dedupe import tied_by_content
from onnx_align_pass.layout.check import check_plan
from onnx_align_pass.layout.expansion import check_planned, check_requests
from onnx_align_pass.layout.plan import LayoutPlan
from onnx_align_pass.layout.planner import make_plan
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.tensors import TensorRequest
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["proven_plan"]


def proven_plan(
    requests: Sequence[TensorRequest],
    layout: LayoutPolicy,
    files: SourceFiles,
    *,
    model_name: str,
    keep_homes: bool = False,
    notes: Sequence[str] = (),
    allow_expansion: bool = False,
) -> LayoutPlan:
    """Tie what is equal if that is asked for, make the plan and prove it.

    Args:
        requests: Every tensor of the model, in declaration order.
        layout: How they will lie.
        files: The sources.
        model_name: File name of the model, from which data files are named.
        keep_homes: Each tensor stays in the data file it is in now, by name.
        notes: Carried into the plan.
        allow_expansion: Plan also what writes far more than the data files hold.

    Raises:
        UsageError: Two data files would have one name.
        ModelError: A source cannot be read, or too much would be written for what there is.
        PlanError: A defect of the planner.
    """
    said: Sequence[str] = ()
    if not allow_expansion:
        check_requests(requests)
    if layout.dedupe:
        requests, said = tied_by_content(
            requests, layout, files, model_name=model_name, keep_homes=keep_homes
        )
    plan = make_plan(
        requests,
        layout,
        model_name=model_name,
        keep_homes=keep_homes,
        notes=[*notes, *said],
    )
    if not allow_expansion:
        check_planned(requests, plan)
    return check_plan(plan, layout)
