"""Where the files of a model go when it gets another name or another folder. Reads only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from onnx_align_pass.errors import DataFileSharedError, UnsafeDataFileError, UsageError
from onnx_align_pass.layout.names import check_names, filled
from onnx_align_pass.layout.renames import renamed
from onnx_align_pass.layout.safetensors import is_safetensors
from onnx_align_pass.model.bind import relocate
from onnx_align_pass.model.skeleton import Skeleton, read_skeleton
from onnx_align_pass.model.sources import external_tensors, location_of
from onnx_align_pass.paths import same_file
from onnx_align_pass.policy import LayoutPolicy
from onnx_align_pass.references import References
from onnx_align_pass.transfer.open_source import SourceFiles

__all__ = ["DataMove", "Relocation", "check_unshared", "check_whole", "relocation_of"]


@dataclass(frozen=True, slots=True)
class DataMove:
    """A data file with its names, relative to the old model's folder and to the new one's."""

    before: str
    after: str
    size: int


@dataclass(frozen=True, slots=True)
class Relocation:
    """A model that was read, with where its files go."""

    skeleton: Skeleton
    """The model, as it will be: its locations are the new ones."""
    model: Path
    """The model file that will be."""
    moves: tuple[DataMove, ...]
    """Data files that get another path."""
    kept: tuple[DataMove, ...]
    """Data files that stay where they are: the new model points at them too."""
    locations: dict[str, str]
    """Locations as the skeleton spells them, to names of data files in the new model's folder."""
    renames: bool
    """Whether some location changes; offsets never do."""

    @property
    def source(self) -> Path:
        """The model file that is."""
        return self.skeleton.path

    @property
    def paths(self) -> tuple[tuple[Path, Path], ...]:
        """The data files that move: where each is, and where it will be."""
        folder, path = self.model.parent, self.skeleton.data_path
        return tuple((path(one.before), folder / one.after) for one in self.moves)

    @property
    def old_paths(self) -> tuple[Path, ...]:
        """Where the data files that move are."""
        return tuple(before for before, _ in self.paths)

    def relocate(self, names: Mapping[str, str]) -> None:
        """Rename the data files that the skeleton points at; others keep their names."""
        tensors = (tensor for _, tensor in external_tensors(self.skeleton))
        relocate(tensors, lambda location: names.get(location, location))


def relocation_of(
    source: Path, model: Path, files: SourceFiles, external_data: str | None
) -> Relocation:
    """Read a model, find its data files, and choose their names.

    Args:
        source: The model.
        model: What it will be.
        files: Opens the data files: each is proven to be one that may be read.
        external_data: Template of the name of the one data file; None: as `renamed` has it.

    Raises:
        UsageError: The template is none, is for one file where there are several, or two files
            would have one name.
        ModelError: The model is broken, or a data file is missing or refused.
    """
    skeleton = read_skeleton(source)
    spelled, sizes = _data_files(skeleton, files)
    names = dict.fromkeys(spelled.values())
    if external_data is None:
        after = {name: renamed(name, source.name, model.name) for name in names}
    else:
        after = _given(external_data, list(names), model)
    check_names(list(after.values()), model.name)
    changes = {location: after[name] for location, name in spelled.items() if after[name] != name}
    found = [DataMove(name, after[name], size) for name, size in sizes.items()]
    stay = same_file(source.parent, model.parent)
    plan = Relocation(
        skeleton,
        model,
        tuple(one for one in found if not (stay and one.before == one.after)),
        tuple(one for one in found if stay and one.before == one.after),
        {changes.get(location, location): after[name] for location, name in spelled.items()},
        bool(changes),
    )
    plan.relocate(changes)
    return plan


def _data_files(skeleton: Skeleton, files: SourceFiles) -> tuple[dict[str, str], dict[str, int]]:
    """Locations as they are spelled, to plain names; and the size of each data file, by name.

    A file that no element lies in may be missing.
    """
    spelled: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for slot, tensor in external_tensors(skeleton):
        location, name = location_of(slot, tensor, skeleton.path)
        spelled[location] = name
        path = skeleton.data_path(name)
        if name not in sizes and (0 not in tensor.dims or os.path.lexists(path)):
            sizes[name] = files.size(path, tensor=slot.name)
            _check_own(skeleton, name, path, slot.name)
    return spelled, sizes


def _check_own(skeleton: Skeleton, name: str, path: Path, tensor: str) -> None:
    """Prove that a data file is one by itself: to give it another name is to give it to nobody."""
    folder, resolved = os.path.realpath(skeleton.path.parent), os.path.realpath(path)
    if resolved != os.path.join(folder, *name.split("/")):
        raise UnsafeDataFileError(
            "the data file is a symlink, or is reached through one",
            tensor=tensor,
            file=path,
            found=f"its target {resolved}",
            hint="Align the model to a new destination: that writes plain files.",
        )
    if same_file(path, skeleton.path):
        raise UnsafeDataFileError(
            "the model file is its own data file",
            tensor=tensor,
            file=path,
            hint="Align the model to a new destination: that writes a data file.",
        )


def _given(template: str, names: list[str], model: Path) -> dict[str, str]:
    LayoutPolicy(data_name=template)  # refuses what is no name
    if set("{}") & set(template.replace("{model}", "").replace("{stem}", "")):
        raise UsageError(
            f"the data file's name cannot be {template!r}",
            needed="a name with no placeholders but {model} and {stem}",
        )
    if len(names) > 1:
        raise UsageError(
            "one name for several data files",
            file=model,
            found=", ".join(names),
            hint="Leave the name out, or align the model: that writes one data file.",
        )
    name = filled(template, model.name)
    if is_safetensors(name) and not all(map(is_safetensors, names)):
        raise UsageError(
            "a file of this name would be no safetensors file",
            file=name,
            hint="Choose another name, or align the model: that writes one.",
        )
    return dict.fromkeys(names, name)


def check_whole(source: Path) -> None:
    """Refuse a model that is a symlink: its data is its target's.

    Raises:
        UnsafeDataFileError: It is one, such as those of a Hugging Face snapshot.
    """
    if os.path.islink(source):
        raise UnsafeDataFileError(
            "the model is a symlink",
            file=source,
            found=f"its target {os.path.realpath(source)}",
            hint="Name the target itself, or align the model to a new destination.",
        )


def check_unshared(plan: Relocation, references: References, *, force: bool) -> tuple[str, ...]:
    """Prove that no other model uses what will be gone from its place.

    Args:
        plan: What will move.
        references: What is known of the models around.
        force: Go on where a model beside it may not be read.

    Returns:
        What is not known of the models around.

    Raises:
        DataFileSharedError: One uses it, or may.
    """
    notes: list[str] = []
    own = Path(os.path.realpath(plan.model.parent), plan.model.name)
    around = references.around(plan.source)
    for path in (plan.source, *plan.old_paths):
        sharers = around.others(path)
        users = [user for user in sharers.users if user != own]
        if users:
            raise DataFileSharedError(
                "the file is the data of another model too",
                file=path,
                found=", ".join(map(str, users)),
                hint="Align the model to a new destination: there it gets data of its own.",
            )
        if sharers.unreadable and not force:
            raise DataFileSharedError(
                "a model beside it may not be read: whether it uses the file is unknown",
                file=path,
                found=", ".join(str(references.of(model)) for model in sharers.unreadable),
                hint="Make it readable, or force it.",
            )
        notes += sharers.doubts(path.name)
    return tuple(dict.fromkeys(notes))
