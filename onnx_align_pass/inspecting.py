"""What a model and its data files are like, whatever is wrong with them. Nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from onnx_align_pass.errors import ExternalDataError, ModelError
from onnx_align_pass.findings import Finding
from onnx_align_pass.garbage import collector_paused
from onnx_align_pass.inspection.duplicates import duplicate_groups
from onnx_align_pass.inspection.faults import find_faults
from onnx_align_pass.inspection.files import LookedAt, look_at_files
from onnx_align_pass.inspection.hazards import find_hazards
from onnx_align_pass.inspection.inventory import Inventory, inventory_of
from onnx_align_pass.inspection.report import Amount, Duplicate, ModelReport, TensorReport
from onnx_align_pass.inspection.rows import rows_of, sum_by, tied_groups
from onnx_align_pass.inspection.satisfied import preset_reports
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.presets import PRESETS
from onnx_align_pass.references import References

__all__ = ["inspect_file", "inspect_folder"]


def inspect_file(
    path: StrPath, *, duplicates: bool = True, allow_hard_links: bool = False
) -> ModelReport:
    """Look at a model and its data files.

    Weights are not read, but for those of equal type and size, and small gaps between tensors.

    Args:
        path: The model.
        duplicates: Look for tensors of equal bytes.
        allow_hard_links: See `align_file`.

    Raises:
        ModelNotFoundError: There is no such model, or it is not a file.
        BrokenModelError: It is no model at all. All else that is wrong is a finding.
        ExternalDataError: A data file cannot be read to its end.
        SourceChangedError: A file was changed meanwhile.
    """
    how = _How(duplicates, allow_hard_links)
    return _inspect(given_path(path), References(), how)


def inspect_folder(
    path: StrPath, *, duplicates: bool = True, allow_hard_links: bool = False
) -> tuple[ModelReport, ...]:
    """Look at every model of a folder. What is no model, or cannot be read, gets a report too.

    Args:
        path: The folder; folders below it count.
        duplicates: Look for tensors of equal bytes in each model.
        allow_hard_links: See `align_file`.

    Raises:
        ModelNotFoundError: There is none, or a folder below cannot be read.
        UnsafeDataFileError: A folder below is a symlink.
    """
    from onnx_align_pass.repack_folder import models_below  # all that writes comes with it

    references, how = References(), _How(duplicates, allow_hard_links)
    return tuple(_or_unreadable(model, references, how) for model in models_below(given_path(path)))


class _How(NamedTuple):
    duplicates: bool
    allow_hard_links: bool


def _or_unreadable(model: Path, references: References, how: _How) -> ModelReport:
    try:
        return _inspect(model, references, how)
    except ModelError as error:
        finding = Finding.of("error", error)
        return ModelReport(model, _size(model), findings=(finding,), is_readable=False)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@collector_paused()
def _inspect(path: Path, references: References, how: _How) -> ModelReport:
    try:
        with inventory_of(path, allow_hard_links=how.allow_hard_links) as inventory:
            report = _report(inventory, references, duplicates=how.duplicates)
            inventory.files.verify_unchanged()  # or it is of two models, neither of which there was
            return report
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExternalDataError(
            f"reading failed: {reason}",
            file=error.filename or path,
            hint="Check the disk or its connection.",
            code="data-file-unreadable",
        ) from None


def _report(inventory: Inventory, references: References, *, duplicates: bool) -> ModelReport:
    looked = list(look_at_files(inventory, references))
    found = [*find_faults(inventory), *find_hazards(inventory, looked)]
    tied = tied_groups(inventory)
    duplicates = duplicates and not inventory.expansion.is_bomb  # each of its bytes would be read
    alike = duplicate_groups(inventory) if duplicates else []
    rows = tuple(rows_of(inventory, tied, alike, found))
    by_where = sum_by(rows, lambda row: "inline" if row.file is None else "external")
    external = by_where.get("external", Amount())
    return ModelReport(
        model=inventory.skeleton.path,
        model_bytes=inventory.skeleton.size,
        findings=tuple(one.finding for one in found),
        inline=by_where.get("inline", Amount()),
        external=external._replace(nbytes=_bytes_once(rows)),
        mappings=sum(1 for row in rows if row.length),
        dtypes=sum_by(rows, lambda row: row.dtype),
        alignment=_together(one.report.alignment for one in looked),
        files=tuple(one.report for one in looked),
        tensors=rows,
        tied=tuple(tied),
        duplicates=tuple(Duplicate(rows[one[0]].nbytes or 0, tuple(one)) for one in alike),
        presets=tuple(preset_reports(inventory, looked, PRESETS.values())),
        notes=tuple(_notes(looked, duplicates=duplicates)),
    )


def _bytes_once(rows: Iterable[TensorReport]) -> int:
    """Bytes of external tensors, each range once."""
    ranges = {(row.file, row.offset, row.length) for row in rows if row.length}
    return sum(length or 0 for _, _, length in ranges)


def _together(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: Counter[int] = Counter()
    for one in counts:
        total.update(one)
    return {alignment: total[alignment] for alignment in sorted(total)}


def _notes(looked: Sequence[LookedAt], *, duplicates: bool) -> Iterator[str]:
    for one in looked:
        yield from one.notes
    if not duplicates:
        yield "nobody looked for tensors of equal bytes"
