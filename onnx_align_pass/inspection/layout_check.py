"""Whether a model lies as a layout and a storage policy ask."""

from __future__ import annotations

from collections.abc import Iterator

from onnx_align_pass.errors import VerifyError
from onnx_align_pass.findings import Finding
from onnx_align_pass.inspection.inventory import Inventory
from onnx_align_pass.layout.satisfy import Lying, breaches
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.spans import FileSpan

__all__ = ["layout_findings", "storage_findings"]

_HINT = "`onnx-align align` with this layout repacks it."


def layout_findings(inventory: Inventory, layout: LayoutPolicy) -> Iterator[Finding]:
    """List what a layout asks and the model's data files do not give.

    Tensors that cannot be read are left out: what is wrong with them is said elsewhere.
    """
    lying = [
        Lying(one.slot.name, one.home, one.source.offset, one.facts.nbytes, one.facts.element_bits)
        for one in inventory.entries
        if one.home is not None
        and one.facts is not None
        and one.fault is None
        and isinstance(one.source, FileSpan)
    ]
    homes = {one.file for one in lying}
    paths = {name: path for name, path in inventory.homes.items() if name in homes}
    sizes = {name: inventory.files.size(path) for name, path in paths.items()}
    for breach in breaches(lying, sizes, layout):
        error = VerifyError(
            breach.problem,
            tensor=breach.tensor,
            file=paths[breach.file],
            needed=breach.needed,
            found=breach.found,
            hint=_HINT,
        )
        yield Finding(breach.code, "error", error)


def storage_findings(inventory: Inventory, storage: StoragePolicy) -> Iterator[Finding]:
    """List the tensors that a policy wants in data files, and that are inline."""
    for entry in inventory.entries:
        facts = entry.facts
        if facts is None or entry.fault is not None or facts.is_external:
            continue
        decision = storage.decide(facts)
        if decision.external:
            error = VerifyError(
                "its bytes are in the model file",
                tensor=entry.slot.name,
                file=inventory.skeleton.path,
                needed=f"a data file: {decision.reason}",
                found=f"{facts.nbytes:,} bytes inline",
                hint=_HINT,
            )
            yield Finding("inline", "error", error)
