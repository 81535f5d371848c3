"""Whether a model lies as a layout and a storage policy ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnx_align_pass.errors import VerifyError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.files import LookedAt
from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.inspection.lying import kept_in, lying_in
from onnx_align_pass.layout.satisfy import breaches
from onnx_align_pass.layout.satisfy_names import name_breaches
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy

__all__ = ["layout_findings", "storage_findings"]

_HINT = "`onnx-align align` with this layout repacks it."


def layout_findings(
    inventory: Inventory,
    looked: Sequence[LookedAt],
    layout: LayoutPolicy,
    storage: StoragePolicy | None = None,
) -> Iterator[Finding]:
    """List what a layout asks and the model's data files do not give.

    Tensors that cannot be read are left out: what is wrong with them is said elsewhere.

    Args:
        inventory: The model.
        looked: Its data files.
        layout: What is asked.
        storage: Whose rules may ask for alignments of single tensors.
    """
    lying = lying_in(inventory, storage)
    homes = {one.file for one in lying}
    paths = {name: path for name, path in inventory.homes.items() if name in homes}
    sizes = {name: inventory.files.size(path) for name, path in paths.items()}
    headers = {one.report.name: one.header for one in looked}
    model_name = inventory.skeleton.path.name
    for breach in (
        *breaches(lying, sizes, layout),
        *name_breaches(lying, layout, model_name, headers),
    ):
        error = VerifyError(
            breach.problem,
            tensor=breach.tensor,
            file=paths[breach.file],
            needed=breach.needed,
            found=breach.found,
            hint=_HINT,
            code=breach.code,
        )
        yield Finding.of("error", error)


def storage_findings(inventory: Inventory, storage: StoragePolicy) -> Iterator[Finding]:
    """List the tensors that a policy wants in data files, and that are inline."""
    for entry, facts, decision in kept_in(inventory, storage):
        error = VerifyError(
            "its bytes are in the model file",
            tensor=entry.slot.name,
            file=inventory.skeleton.path,
            needed=f"a data file: {decision.reason}",
            found=f"{facts.nbytes:,} bytes inline",
            hint=_HINT,
            code="inline",
        )
        yield Finding.of("error", error)
