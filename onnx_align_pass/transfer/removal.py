"""Remove a model and its data: at every instant what is left of them is whole, or an orphan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from onnx_align_pass.transfer.commit import commit
from onnx_align_pass.transfer.journal import FileState, Journal
from onnx_align_pass.transfer.staging import Stage

__all__ = ["remove_pair"]


def remove_pair(
    model: Path,
    state: FileState,
    data: Mapping[str, FileState | None],
    *,
    durable: bool,
    recheck: Callable[[], None],
    also_lock: Iterable[Path] = (),
) -> None:
    """Remove a model, then data files that nothing points at any more; a later run can finish it.

    Args:
        model: The model.
        state: As it must still be.
        data: The data files, relative to the model's folder; one that is not as it was stays.
        durable: Whether to sync between the steps.
        recheck: Called when no other run can publish any more; what it raises ends this, with
            nothing removed.
        also_lock: Further folders in which nobody may publish meanwhile.

    Raises:
        SourceChangedError: The model is not what it was.
        WriteError: The model cannot be removed.
    """
    journal = Journal(
        model=model.name,
        model_before=state,
        model_after=None,
        bridge=None,
        data_before={},
        data_after={},
        superseded=dict(data),
        new_folders=(),
    )
    with Stage(model.parent, model.name) as stage:
        commit(stage, journal, durable=durable, recheck=recheck, also_lock=also_lock)
