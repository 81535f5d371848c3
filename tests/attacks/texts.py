"""A model whose every text is an attack on a terminal, a page, or whoever reads what is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from onnx import ModelProto, TensorProto, helper

from tests.corpus.build import external, model_of, showing, tensor, write

__all__ = ["FORBIDDEN", "HOSTILE", "MODEL_NAME", "hostile"]

TITLE: Final = "\x1b]0;owned\x07"
HOSTILE: Final = (
    f"{TITLE}\x1b[31m\x1b[2J\x9b31m\r\n\t\b\x00\x7f\x85\u2028\u202eevil\u202c\u2066x\u2069"
    "\u200b\ufeff[red]r[/red][link=http://evil]l[/link][/]</script><script>alert(1)</script>"
    "'\"><img src=x onerror=alert(2)>{model}%s${x}`id`"
)
FORBIDDEN: Final = frozenset(
    {chr(one) for one in (*range(32), *range(127, 160))} - {"\n"}
    | set(
        "\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
    )
)
"""What never reaches a stream: control characters but the line's end, and what turns direction."""
MODEL_NAME: Final = "m\x1b[31m\u202e[red]\n.onnx"
LOCATION: Final = 'd\u202e[red]<script>&".data'
"""Control characters in a location are refused; all else is a name."""


def hostile(folder: Path, *, for_ir: bool = False) -> Path:
    """A sound model, but for its texts; `for_ir`: one that onnx-ir reads."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = [external(tensor(f"{HOSTILE}{index}", [300]), folder, LOCATION) for index in (1, 2)]
    inline = tensor(f"inline {HOSTILE}", [300])
    unknown = TensorProto(name=f"unknown {HOSTILE}", data_type=99, dims=[3], raw_data=b"abc")
    graph = showing([*weights, inline])
    graph.initializer.extend([] if for_ir else [unknown])
    graph.name = graph.doc_string = HOSTILE
    node = helper.make_node(HOSTILE, [], [f"out {HOSTILE}"], name=HOSTILE, domain=HOSTILE)
    node.attribute.append(helper.make_attribute(HOSTILE, tensor(f"in a node {HOSTILE}", [400])))
    graph.node.append(node)
    graph.input.append(
        helper.make_tensor_value_info(f"in {HOSTILE}", TensorProto.FLOAT, [f"dim {HOSTILE}", 3])
    )
    model: ModelProto = model_of(graph)
    model.producer_name = model.domain = model.doc_string = HOSTILE
    model.opset_import.append(helper.make_opsetid(HOSTILE, 1))
    model.metadata_props.add(key=HOSTILE, value=HOSTILE)
    return write(folder, model, MODEL_NAME)
