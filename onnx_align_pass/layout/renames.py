"""How data files are called when their model is."""

from __future__ import annotations

from onnx_align_pass.layout.names import filled

__all__ = ["renamed"]

_SUFFIX = ".onnx"


def renamed(data: str, old: str, new: str) -> str:
    """Name of a data file whose model, called `old`, is called `new` from now on.

    A name that begins with the model's name, or with that name without `.onnx`, has the new one in
    its place: `old.onnx.data`, `old_data`, `old-00001-of-00002.onnx.data`. A longer word is another
    one: `older.data` keeps its name. Folders do.
    """
    folder, slash, name = data.rpartition("/")
    for before, after in ((old, new), (_stem(old), _stem(new))):
        # A name that no location can hold stands in data files as `filled` writes it.
        for spelled in (before, filled("{model}", before)):
            rest = name.removeprefix(spelled)
            if spelled and name.startswith(spelled) and not rest[:1].isalnum():
                return f"{folder}{slash}{filled('{model}', after)}{rest}"
    return data


def _stem(name: str) -> str:
    return name[: -len(_SUFFIX)] if name.lower().endswith(_SUFFIX) else name
