"""Cases: names of models, data files and tensors, and the ways to spell a location."""

from __future__ import annotations

from pathlib import Path

from onnx import GraphProto, TensorProto, helper

from . import wire
from .build import DATA, FLOAT, MODEL, external, model_of, numbers, point, show, showing, tensor
from .build import write as write_model
from .case import Build, CaseBook

__all__ = ["CASES"]

CASES = CaseBook()


def weights(folder: Path, location: str) -> GraphProto:
    """Two external tensors in one file, and an inline one."""
    tensors = [external(tensor(name, [300]), folder, location) for name in ("a", "b")]
    return showing([*tensors, tensor("inline", [300])])


def located(location: str, *, name: str = MODEL, mkdir: str | None = None) -> Build:
    """A builder of a model whose data file has this location."""

    def build(folder: Path) -> Path:
        if mkdir is not None:
            (folder / mkdir).mkdir()
        return write_model(folder, weights(folder, location), name)

    return build


CASES.add("location_nested", "A data file in a folder of its own.")(located("weights/a.bin"))
CASES.add("location_dot_slash", "A location that starts with `./`.")(located("./w.data"))
CASES.add("location_double_slash", "A location with an empty part.")(located("weights//a.bin"))
CASES.add("location_inner_dot", "A location with a `.` part.")(located("weights/./a.bin"))
CASES.add("location_down_and_up", "A location with a `..` that stays inside the folder.")(
    located("deep/../w.data", mkdir="deep")
)
CASES.add(
    "location_two_dots_in_name",
    "A file name with `..` in it, which is no step up: onnx refuses it, onnxruntime does not.",
    checker=False,
    onnx_load=False,
)(located("w..data"))
CASES.add("location_hidden", "A data file whose name starts with a dot.")(located(".w"))
CASES.add("location_spaces", "A data file whose name has spaces, also at its ends.")(
    located(" w w .data ")
)
CASES.add("location_unicode", "A data file whose name is not ASCII, composed and decomposed.")(
    located("pöids-o\u0308-重み-🜁.data")
)
CASES.add("location_long", "A data file whose name has 255 bytes, the most that Linux allows.")(
    located("w" * 255)
)
CASES.add("location_shell", "A data file whose name means something to a shell or to rich.")(
    located("-w [red]$(x)&'\"%s{0}*?.data")
)
CASES.add("model_name_unicode", "A model and a data file with spaces and non-ASCII letters.")(
    located("mödel ü.onnx.data", name="mödel ü.onnx")
)
CASES.add("model_name_without_suffix", "A model that is not called `.onnx`.")(
    located(DATA, name="model")
)
CASES.add("model_name_two_suffixes", "A model called `.quant.onnx.bak`.")(
    located(DATA, name="model.quant.onnx.bak")
)
CASES.add("model_name_long", "A model whose name leaves no room for a suffix: 250 bytes.")(
    located(DATA, name="m" * 245 + ".onnx")
)


def named(folder: Path, *names: str) -> Path:
    """A model of an inline and an external tensor for each name."""
    tensors = []
    for name in names:
        tensors += [tensor(name, [300]), external(tensor(f"{name} (external)", [300]), folder)]
    return write_model(folder, showing(tensors))


@CASES.add()
def tensor_names_unicode(folder: Path) -> Path:
    """Tensor names with spaces and non-ASCII letters."""
    return named(folder, "wéight 重み", "a b\u00a0c", "🜁", "/layer.0/attn/q_proj")


@CASES.add()
def tensor_names_control(folder: Path) -> Path:
    """Tensor names with newline, ESC, NUL, backspace, right-to-left override and markup."""
    return named(
        folder, "new\nline", "\x1b[31mred\x1b[0m", "nul\0", "back\b", "\u202ertl", "[bold]b"
    )


@CASES.add()
def tensor_names_long(folder: Path) -> Path:
    """A tensor name of 100,000 letters."""
    return named(folder, "w" * 100_000)


@CASES.add(runs=False, checker=False)
def tensor_names_missing(folder: Path) -> Path:
    """Initializers without a name, and with an empty one."""
    absent, empty = external(tensor("", [300]), folder), tensor("", [300])
    absent.ClearField("name")
    graph = showing([tensor("shown", [3])])
    graph.initializer.extend([absent, empty])
    return write_model(folder, graph)


@CASES.add()
def tensor_names_missing_in_constants(folder: Path) -> Path:
    """Constants whose tensors have no name."""
    graph = showing([])
    for output in ("a", "b"):
        value = tensor(output, [300])
        value.ClearField("name")
        if output == "b":
            value = external(value, folder)
        graph.node.append(helper.make_node("Constant", [], [output], value=value))
        show(graph, output, [300])
    return write_model(folder, graph)


@CASES.add(runs=False, checker=False)
def tensor_names_twice(folder: Path) -> Path:
    """Two initializers of one name and different bytes.

    onnxruntime runs it, but takes the one when they are external and the other when inline.
    """
    graph = showing([external(tensor("w", [300]), folder)])
    graph.initializer.append(external(tensor("v", [300]), folder))
    graph.initializer[1].name = "w"
    return write_model(folder, graph)


@CASES.add(onnx_load=False)
def tensor_name_not_utf8(folder: Path) -> Path:
    """A tensor whose name is not UTF-8: Python's protobuf returns bytes."""
    (folder / DATA).write_bytes(numbers("data", [300]).tobytes())
    entries = (("location", DATA), ("offset", "0"), ("length", "1200"))
    bare = point(TensorProto(data_type=FLOAT, dims=[300]), entries)
    graph = showing([tensor("shown", [3])])
    odd = bare.SerializeToString() + wire.block(8, b"w\xff\xfe")
    content = model_of(graph).SerializeToString() + wire.block(7, wire.block(5, odd))
    return write_model(folder, content)
