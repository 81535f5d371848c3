"""The passes that write, and pipelines that end with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import onnx_ir as ir

from onnx_align_pass.destination import Destination
from onnx_align_pass.errors import AlignError, UsageError
from onnx_align_pass.ir.save_model import Saving, save_model
from onnx_align_pass.passes.collect import require_values
from onnx_align_pass.passes.decide import decide
from onnx_align_pass.passes.tag_external import TagExternalDataPass
from onnx_align_pass.paths import StrPath, given_path
from onnx_align_pass.policy import LayoutPolicy, StoragePolicy
from onnx_align_pass.progress import SILENT, Progress
from onnx_align_pass.registry.spec import describe_pass, parse_pass
from onnx_align_pass.report import AlignReport
from onnx_align_pass.run import Options

__all__ = ["AlignPipeline", "WriteAlignedPass", "align_pipeline", "built", "unwrapped"]


@dataclass(frozen=True)
class WriteAlignedPass(ir.passes.PassBase):
    """Write the model and its weights, aligned; the model that comes back is the one that went in.

    Before: every initializer has a value, of a fixed shape. After: the model file at `path` and its
    data files are on the disk, or, where the pass failed, what was there before. Run again with
    nothing changed, it writes nothing.

    Tensors that are tagged lie as their tags say; for all others the storage policy decides. A
    model that is at `path` is replaced; where tensors of this model lie in files that are replaced,
    they are pointed at the new ones, so that they never read new bytes under old offsets.

    Raises, when it is called (what is asked of the model before that, onnx-ir wraps in its
    PreconditionError):
        ModelError: The model or the destination is refused; all is as it was.
        WriteError: Writing failed; all is as it was.
    """

    path: StrPath
    """The model file."""
    storage: StoragePolicy = field(default_factory=StoragePolicy, kw_only=True)
    """For tensors that `TagExternalDataPass` has not tagged."""
    layout: LayoutPolicy = field(default_factory=LayoutPolicy, kw_only=True)
    """How external tensors lie."""
    rebind: bool = field(default=False, kw_only=True)
    """Point all external tensors at the new files, so that weights in memory can be freed."""
    progress: Progress = field(default=SILENT, kw_only=True, repr=False, compare=False)
    """Told of each transfer."""
    verify: bool = field(default=False, kw_only=True)
    """Read everything back and compare it before it is published."""
    force: bool = field(default=False, kw_only=True)
    """Replace a data file too that is there and that no model claims."""
    keep_old_data: bool = field(default=False, kw_only=True)
    """Where a model is replaced, write its data under a name that no file had; leave the old."""
    durable: bool = field(default=True, kw_only=True)
    """Return only when the result is on the disk."""
    _reports: list[AlignReport] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given_path(self.path)

    @property
    def in_place(self) -> bool:
        """The model that comes back is the one that went in."""
        return True

    @property
    def changes_input(self) -> bool:
        """Only where it was asked to point the model at the new files.

        Tensors that lie in files that are replaced are pointed at the new ones in any case: their
        values stay.
        """
        return self.rebind

    @property
    def report(self) -> AlignReport | None:
        """What the last run did; None before the first."""
        return self._reports[-1] if self._reports else None

    def requires(self, model: ir.Model) -> None:
        """Every initializer has a value of a fixed shape."""
        require_values(model)

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Write `model`; `modified` says whether any tensor points at another file now."""
        options = Options(
            self.storage,
            self.layout,
            self.progress,
            self.verify,
            overwrite=self.force,
            durable=self.durable,
        )
        saving = Saving(decide=partial(decide, storage=self.storage), rebind=self.rebind)
        done = save_model(model, self._destination(), options, saving)
        self._reports[:] = [AlignReport((done.alignment,))]
        return ir.passes.PassResult(model, modified=done.rebound > 0)

    def __str__(self) -> str:
        return describe_pass(self)

    def _destination(self) -> Destination:
        path = Path.cwd() / self.path
        return Destination.of_model(
            path,
            force=self.force,
            source_moves=self.rebind,
            keeps_old=self.keep_old_data,
        )

    def ensures(self, model: ir.Model) -> None:
        """The files are there, as large as planned."""
        assert self.report is not None, "it was called"
        (written,) = self.report.models
        sizes = {written.destination: written.model_bytes}
        folder = written.destination.parent
        sizes.update({folder / file.name: file.nbytes for file in written.data_files})
        for path, size in sizes.items():
            if not path.is_file() or path.stat().st_size != size:
                raise ir.passes.PostconditionError(f"{path} is not the file that was written")


class AlignPipeline(ir.passes.PassManager):
    """A pass manager that ends with writing; what goes wrong is raised as it is, not wrapped."""

    def __call__(self, model_or_result: ir.Model | ir.passes.PassResult, /) -> ir.passes.PassResult:
        """Run the passes.

        Raises:
            AlignError: What a pass of this project raised.
            PassError: What another pass raised.
        """
        try:
            return super().__call__(model_or_result)
        except ir.passes.PassError as error:
            found = unwrapped(error)
            if found is error:
                raise
            raise found from None

    @property
    def report(self) -> AlignReport | None:
        """What the last run wrote."""
        last = self.passes[-1]
        return last.report if isinstance(last, WriteAlignedPass) else None


def unwrapped(error: BaseException) -> BaseException:
    """The error of this project that onnx-ir wrapped; the error itself where there is none."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AlignError):
            return cause
        cause = cause.__cause__
    return error


def align_pipeline(
    path: StrPath,
    *,
    before: Sequence[ir.passes.PassBase | str] = (),
    storage: StoragePolicy | None = None,
    layout: LayoutPolicy | None = None,
    **options: Any,
) -> AlignPipeline:
    """Compose passes, tagging and writing, in this order, to one pass manager.

    Args:
        path: The model file to be.
        before: Passes that run first: objects, or texts such as
            `deduplicate-initializers{size_limit=4096}` (`onnx-align passes` lists the names).
        storage: Which tensors are external data.
        layout: How they lie.
        **options: Further fields of `WriteAlignedPass`: `rebind`, `progress`, `verify`, `force`,
            `keep_old_data`, `durable`.

    Raises:
        UsageError: A text names no pass, or a value is none that an option can have.
    """
    storage, layout = storage or StoragePolicy(), layout or LayoutPolicy()
    if isinstance(before, str):
        raise UsageError("before is one text", needed="a list of them", hint=f"Pass [{before!r}].")
    return AlignPipeline(
        [
            *(built(one) for one in before),
            TagExternalDataPass(storage),
            WriteAlignedPass(path, storage=storage, layout=layout, **options),
        ]
    )


def built(one: ir.passes.PassBase | str) -> ir.passes.PassBase:
    """Build a pass from its text; a pass is itself.

    Raises:
        UsageError: It is neither, the text names no pass, or a value is none that an option can
            have.
    """
    if isinstance(one, str):
        return parse_pass(one)
    if not isinstance(one, ir.passes.PassBase):
        name = getattr(one, "__name__", type(one).__name__)
        raise UsageError(
            f"{name} is no pass",
            needed="an object of a pass, or a text",
            hint="A class must be called: MyPass().",
        )
    return one
