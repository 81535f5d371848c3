"""Everything that is asked of one model, in an order in which nothing is read in vain."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from onnx_align_pass.comparing import Comparison
from onnx_align_pass.digesting import digest_of
from onnx_align_pass.errors import ModelError, SourceChangedError, VerifyError
from onnx_align_pass.explaining import reads_explained
from onnx_align_pass.findings import Finding
from onnx_align_pass.garbage import collector_paused
from onnx_align_pass.inspection.checksums import checksum_findings, checksums_in
from onnx_align_pass.inspection.faults import CHECKSUM_UNVERIFIED, faults_of
from onnx_align_pass.inspection.files import look_at_files
from onnx_align_pass.inspection.graph_check import can_be_checked, checker_findings
from onnx_align_pass.inspection.hazards import hazards_of
from onnx_align_pass.inspection.inventory import Inventory, inventory_of
from onnx_align_pass.inspection.layout_check import layout_findings, storage_findings
from onnx_align_pass.pairing import pairs_of
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.progress import Progress
from onnx_align_pass.references import References
from onnx_align_pass.verify_report import ModelVerification

__all__ = ["Asked", "verify_model"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a model; see `verify_file`."""

    layout: LayoutPolicy | None
    storage: StoragePolicy | None
    digest: str | None
    with_digest: bool
    progress: Progress
    references: References
    """What is known of the models of a folder; shared by the models of one run."""
    allow_hard_links: bool = False


@collector_paused()
def verify_model(model: Path, other: Path | None, asked: Asked) -> ModelVerification:
    """Check one model, and compare it with another if there is one.

    Raises:
        ModelError: One of them is no model at all, cannot be read, or changed meanwhile.
    """
    started = time.perf_counter()
    with ExitStack() as stack:
        stack.enter_context(reads_explained(model))
        found = partial(inventory_of, thorough=True, allow_hard_links=asked.allow_hard_links)
        inventory = stack.enter_context(found(model))
        opposite = None if other is None else stack.enter_context(found(other))
        check = _Check(inventory, opposite, asked)
        findings = tuple(check.findings())
        for one in (inventory, opposite):
            if one is not None:
                one.files.verify_unchanged()
    comparison = check.comparison
    return ModelVerification(
        model=model,
        findings=findings,
        checked=tuple(check.checked),
        tensors=len(inventory.entries),
        bytes_compared=0 if comparison is None else comparison.bytes_compared,
        bytes_shared=0 if comparison is None else comparison.bytes_shared,
        digest=check.digest,
        seconds=time.perf_counter() - started,
    )


class _Check:
    def __init__(self, inventory: Inventory, other: Inventory | None, asked: Asked) -> None:
        self.checked: list[str] = []
        self.digest: str | None = None
        self.comparison: Comparison | None = None
        self._inventory = inventory
        self._other = other
        self._asked = asked

    def findings(self) -> Iterator[Finding]:
        inventory, asked = self._inventory, self._asked
        self.checked += ["bounds", "overlap", "sizes"]
        yield from _faults(inventory)
        looked = list(look_at_files(inventory, asked.references))
        if asked.layout is not None:
            self.checked.append("layout")
            yield from layout_findings(inventory, looked, asked.layout, asked.storage)
        if asked.storage is not None:
            self.checked.append("storage")
            yield from storage_findings(inventory, asked.storage)
        self.checked.append("hazards")
        yield from hazards_of(inventory, looked)
        # Last, since the comparison uses the inventory up.
        yield from self._reading()
        if asked.digest is not None or asked.with_digest:
            yield from self._digest()

    def _reading(self) -> Iterator[Finding]:
        """What reads weights, with one progress for all of it."""
        inventory, other, progress = self._inventory, self._other, self._asked.progress
        claimed = checksums_in(inventory)
        total = sum(inventory.files.size(inventory.homes[home]) for home in claimed)
        if other is not None:
            self.comparison = Comparison(inventory, other, pairs_of(inventory, other))
            total += self.comparison.bytes_to_compare
        if total:
            progress.begin(inventory.skeleton.path.name, total)
        if claimed:
            self.checked.append("checksum")
            yield from checksum_findings(inventory, claimed, progress.advance)
        if can_be_checked(inventory):
            self.checked.append("checker")
            yield from checker_findings(inventory)
        if other is not None and self.comparison is not None:
            self.checked.append("against")
            yield from (one for one in _faults(other) if one.severity == "error")
            yield from self.comparison.findings(progress.advance)

    def _digest(self) -> Iterator[Finding]:
        self.checked.append("digest")
        model, wanted = self._inventory.skeleton.path, self._asked.digest
        try:
            self.digest = digest_of(
                model,
                progress=self._asked.progress,
                allow_hard_links=self._asked.allow_hard_links,
            )
        except SourceChangedError:
            raise
        except ModelError as error:
            # What is wrong with it was said; that it has no digest is said where one was asked.
            yield Finding.of("error", _no_digest(model, wanted, error))
            return
        if wanted is not None and self.digest != wanted:
            yield Finding.of("error", _other_digest(model, wanted, self.digest))


def _faults(inventory: Inventory) -> Iterator[Finding]:
    """What is wrong; checksums are verified here, so that nobody needs to be told of them."""
    return (one for one in faults_of(inventory) if one.code != CHECKSUM_UNVERIFIED)


def _no_digest(model: Path, wanted: str | None, error: ModelError) -> VerifyError:
    return VerifyError(
        f"it has no content digest: {error.problem}",
        tensor=error.tensor,
        file=model,
        needed=wanted,
        hint="What has faults has no digest: mend them first.",
        code="digest-differs",
    )


def _other_digest(model: Path, wanted: str, found: str) -> VerifyError:
    return VerifyError(
        "it holds something else than what the digest was made from",
        file=model,
        needed=wanted,
        found=found,
        hint="Compare it with --against, if the other model is there.",
        code="digest-differs",
    )
