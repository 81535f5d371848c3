"""Every error that this project raises on purpose: facts first, the sentence made last."""

from __future__ import annotations

import errno
import os
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar, Self

from onnx_align_pass.cures import CURES, NO_ROOM
from onnx_align_pass.printable import printable

__all__ = [
    "AlignError",
    "BrokenModelError",
    "BrokenPassError",
    "DataFileSharedError",
    "DestinationError",
    "DestinationExistsError",
    "DestinationIsSourceError",
    "DiskFullError",
    "ExpansionError",
    "ExternalDataError",
    "FileLimitError",
    "LossyLoadError",
    "MissingExporterError",
    "ModelError",
    "ModelNotFoundError",
    "PassFailedError",
    "PassOptionError",
    "PassTextError",
    "PlanError",
    "PolicyError",
    "PresetError",
    "RuleTextError",
    "ShortSourceError",
    "SizeError",
    "SourceChangedError",
    "SpanError",
    "TensorError",
    "UninitializedTensorError",
    "UnknownPassError",
    "UnsafeDataFileError",
    "UsageError",
    "VerifyError",
    "WriteError",
]


_LONGEST = 400
"""Characters of one fact that are shown; a path may be as long as 4,096."""


class AlignError(Exception):
    """The root of the tree. Its text names what is wrong, where, and what to do next."""

    usual_hint: ClassVar[str | None] = None
    """The hint of errors of this class that are given none."""
    usual_code: ClassVar[str] = "failed"
    """The code of errors of this class that are given none."""

    def __init__(
        self,
        problem: str,
        *,
        tensor: str | None = None,
        file: Path | str | None = None,
        needed: str | None = None,
        found: str | None = None,
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.tensor = tensor
        self.file = None if file is None else str(file)
        self.needed = needed
        self.found = found
        self.hint = hint or self.usual_hint
        self.code = code or self.usual_code
        """What kind it is, in small letters and hyphens; that of a `Finding` made of it."""

    def __str__(self) -> str:
        if not self.hint:
            return self.sentence
        stop = "" if self.sentence.endswith((".", "?", "!")) else "."
        return f"{self.sentence}{stop} {printable(self.hint)}"

    @property
    def sentence(self) -> str:
        """What is wrong and where, without the hint; fit to show."""
        where = [f"tensor '{_shown(self.tensor)}'"] if self.tensor is not None else []
        where += [_shown(self.file)] if self.file is not None else []
        facts = [f"needed {_shown(self.needed)}"] if self.needed is not None else []
        facts += [f"found {_shown(self.found)}"] if self.found is not None else []
        text = ": ".join([*where, _shown(self.problem)])
        return f"{text} ({', '.join(facts)})" if facts else text

    def as_value(self) -> Self:
        """Itself, without the frames that it came through: they hold all that they saw."""
        self.__context__ = None
        return self.with_traceback(None)

    def facts(self) -> dict[str, str]:
        """The error as an object for `--json`."""
        pairs = {
            "error": type(self).__name__,
            "tensor": self.tensor,
            "file": self.file,
            "needed": self.needed,
            "found": self.found,
        }
        facts = {key: _shown(value) for key, value in pairs.items() if value is not None}
        facts["message"] = self.sentence
        return {**facts, "hint": printable(self.hint)} if self.hint else facts


def _shown(text: str) -> str:
    """Make a stranger's text fit to show: nothing that a terminal acts on, nothing endless."""
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    return printable(text)


class UsageError(AlignError, ValueError):
    """An option or argument has a value that it cannot have."""


class PolicyError(UsageError):
    """A field of a policy has a value that it cannot have."""

    def __init__(self, option: str, value: object, needed: str) -> None:
        super().__init__(f"{option} cannot be {value!r}", needed=needed)


class SizeError(UsageError):
    """A text is not a size."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text!r} is not a size", needed="a whole number of bytes, such as 4096, 64KiB or 2GB"
        )


class RuleTextError(UsageError):
    """A text is not a rule; what is said of it begins with the text, in quotes."""

    def __init__(
        self,
        rule: str,
        problem: str,
        *,
        needed: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(f"'{_shown(rule)}': {problem}", needed=needed, found=found, hint=hint)
        self.rule = rule


class SpanError(UsageError):
    """A range of a file has a negative offset or length."""

    def __init__(self, file: str, offset: int, length: int) -> None:
        super().__init__(
            "a range of bytes starts at 0 or later and is not negative",
            file=file,
            found=f"offset {offset}, length {length}",
        )


class PassTextError(UsageError):
    """A text is not of the form `name{option=value option=value}`."""

    usual_hint = (
        "Write name{option=value option=value}: blanks between options and none around =, "
        "several values as a,b, and double quotes around a value that holds blanks, commas or {}."
    )


class UnknownPassError(PassTextError):
    """No pass is registered under this name, or this class under any."""

    usual_hint = "Run `onnx-align passes` to see which there are."

    @classmethod
    def of(cls, name: str, known: list[str]) -> UnknownPassError:
        """Name the passes whose names are close to one that does not exist."""
        close = get_close_matches(name, known) or [one for one in known if one.startswith(name)]
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        return cls(f"there is no pass {name!r}", hint=f"{meant}{cls.usual_hint}")


class PassOptionError(PassTextError):
    """A pass has no such option, lacks one that it needs, or has one with a bad value."""

    usual_hint = "Run `onnx-align passes` to see the options."


class BrokenPassError(PassTextError):
    """A pass is registered, and cannot be used: its import fails, or it is no pass."""

    usual_hint = "Mend or remove the distribution that registers it."

    def __init__(self, name: str, origin: str, reason: str) -> None:
        super().__init__(f"the pass {name!r} of {origin} is not usable: {reason}")
        self.reason = reason


class PresetError(UsageError):
    """There is no preset of this name, or it cannot be used."""

    usual_hint = "Run `onnx-align presets` to see which there are."

    @classmethod
    def unknown(cls, name: str, known: list[str]) -> PresetError:
        """Name the presets whose names are close to one that does not exist."""
        begun = [one for one in known if name and one.startswith(name)]
        close = get_close_matches(name, known) or begun
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        return cls(f"there is no preset {name!r}", hint=f"{meant}{cls.usual_hint}")


class MissingExporterError(AlignError):
    """A hook needs an exporter that is not installed, or that cannot be imported."""

    def __init__(self, module: str, extra: str, reason: str | None = None) -> None:
        super().__init__(
            f"{module} cannot be imported",
            found=reason,
            hint=f"Type `pip install 'onnx-align-pass[{extra}]'`.",
        )


class ModelError(AlignError):
    """The model is missing, broken, or refused for what it holds."""


class ModelNotFoundError(ModelError):
    """There is no such model file, or it cannot be read."""

    usual_hint = "Check the path, and that you may read what is there."
    usual_code = "model-not-found"


class BrokenModelError(ModelError):
    """The file is not an ONNX model, or its wire format is damaged."""

    usual_hint = "Export or download the model again."
    usual_code = "not-a-model"


class TensorError(ModelError):
    """A tensor contradicts itself: its dtype, shape and bytes do not fit."""

    usual_hint = "The model is damaged; export it again."
    usual_code = "bad-tensor"


class UninitializedTensorError(TensorError):
    """An initializer has no value, or a value without bytes: there is nothing to write."""

    usual_hint = "Give it a value, or make it a graph input."


class FileLimitError(ModelError):
    """A file would be larger than its readers can hold, or there would be too many data files."""

    usual_hint = "Ask for smaller shards, or choose another reader."


class ExpansionError(ModelError):
    """Tensors name the same bytes over and over: far more would be written than there is."""

    usual_hint = (
        "No exporter makes such a model: get it from somebody you trust. --force, or overwrite, "
        "writes it all the same."
    )
    usual_code = "expansion"

    def __init__(
        self, nbytes: int, held_bytes: int, doing: str, *, hint: str | None = None
    ) -> None:
        super().__init__(
            "tensors have the same bytes of their data files: what is small would become huge",
            needed=f"about the {held_bytes:,} bytes that the data files hold of them",
            found=f"{nbytes:,} bytes {doing}",
            hint=hint,
        )
        self.nbytes = nbytes
        """Bytes that would be written, or read."""
        self.held_bytes = held_bytes
        """Bytes of data files that they come from."""


class LossyLoadError(ModelError):
    """The model holds what an `ir.Model` cannot: loaded and saved again, it would be lost."""

    usual_hint = (
        "From file to file (`align_file`, or the command line without --before) it survives whole; "
        "load(..., allow_loss=True) drops it."
    )


class PassFailedError(ModelError):
    """A pass that was to run before the model is written failed."""

    usual_hint = "Leave the pass out, or mend what it stumbles over."


class ExternalDataError(ModelError):
    """A tensor's external data entries cannot be followed."""

    usual_hint = "Check that the model and its data files are complete, or export it again."
    usual_code = "bad-entry"


class UnsafeDataFileError(ExternalDataError):
    """A location leaves the model's folder, or is not a plain file that is safe to read."""

    usual_code = "data-file-unsafe"


class ShortSourceError(ExternalDataError):
    """A data file ends before the range that a tensor needs."""

    usual_code = "data-file-too-short"

    def __init__(self, tensor: str, file: Path | str, offset: int, length: int, size: int) -> None:
        super().__init__(
            f"the data file ends {offset + length - size:,} bytes too early",
            tensor=tensor,
            file=file,
            needed=f"bytes {offset:,} to {offset + length:,}",
            found=f"a file of {size:,} bytes",
            hint="Is the file a Git LFS pointer, or was its download cut short?",
        )


class SourceChangedError(ModelError):
    """A source file was changed or replaced while it was read."""

    usual_hint = "Run again when nothing else writes to it."
    usual_code = "file-changed"


class DestinationError(ModelError):
    """The destination is refused."""

    usual_hint = "Choose another destination."


class DestinationIsSourceError(DestinationError):
    """The destination is the source, or its data is the source's, under some spelling."""


class DestinationExistsError(DestinationError):
    """Something exists where the result would go."""

    usual_hint = "Choose another name, or remove what is there."


class DataFileSharedError(DestinationError):
    """A data file that would be replaced or removed belongs to another model too."""

    usual_hint = "Run again, or write to a new destination."


class PlanError(AlignError):
    """A plan breaks a rule of the layout. This is a defect of the planner, never of the model."""

    usual_hint = "Please report it, with the model's plan if you can."


class VerifyError(ModelError):
    """What was written is not what was asked."""

    usual_hint = "Check the disk and the memory of this machine."


def cause_of(error: BaseException) -> str:
    """What an error comes from, at the root of what it was raised from, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"


class WriteError(AlignError):
    """Writing failed: permission, a read-only folder, an input/output error."""

    usual_hint = "Check the folder and the disk, then run again, or write somewhere else."

    @classmethod
    def of(cls, error: OSError, file: Path | str, *, doing: str = "writing") -> WriteError:
        """Name the file and the step of an operating system error."""
        if error.errno in NO_ROOM:
            return DiskFullError(file, None, error, doing=doing)
        reason = error.strerror or str(error)
        hint = CURES.get(error.errno or 0)
        return WriteError(f"{doing} failed: {reason}", file=file, hint=hint)


class DiskFullError(WriteError):
    """The file system has no room for the result, or the user's quota has not."""

    def __init__(
        self,
        file: Path | str,
        needed: int | None,
        error: OSError,
        *,
        doing: str = "writing",
        held: int = 0,
    ) -> None:
        code = error.errno or errno.ENOSPC
        super().__init__(
            f"{doing} failed: {error.strerror or os.strerror(code)}",
            file=file,
            needed=None if needed is None else f"{needed:,} bytes",
            found=_room(Path(file).parent, held, code),
            hint=CURES[code],
        )


def _room(folder: Path, held: int, code: int) -> str | None:
    """What a file system had left before a run took `held` bytes of it; None: it does not say."""
    try:
        there = next(one for one in (folder, *folder.parents) if os.path.isdir(one))
        found = os.statvfs(there)
    except (OSError, AttributeError, StopIteration):
        return None
    room = f"{found.f_bavail * found.f_frsize + held:,} bytes free"
    if code == errno.EDQUOT:
        return f"{room}, of which a quota allows less"
    return f"{room}, but for no more files" if found.f_files and not found.f_favail else room
