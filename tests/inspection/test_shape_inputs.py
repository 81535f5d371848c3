"""Which inputs feed shapes: held against onnx's shape inference, on its own node tests."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from onnx_align_pass.inspection.inventory import inventory_of
from onnx_align_pass.inspection.shape_inputs import SHAPE_INPUTS, ShapeInput, shape_inputs
from tests.corpus.build import DATA, FLOAT, model_of, point, write

LENGTH_OF_DFT = ("DFT", 1)
"""By onnx's source it is read; no node test gives it as a constant."""
ENOUGH = 2
"""Cases of each operator and input that are tried."""


@functools.cache
def node_cases() -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        needs_op_type = bool(inspect.signature(collect_testcases).parameters)  # before onnx 1.21
        cases = collect_testcases(None) if needs_op_type else collect_testcases()
        return [one for one in cases if one.model is not None and one.data_sets]


def constants(case: Any) -> dict[str, TensorProto]:
    """The inputs of a case as initializers."""
    found = {}
    for value, given in zip(case.model.graph.input, case.data_sets[0][0], strict=False):
        if isinstance(given, np.ndarray | np.generic) and given.dtype != object and given.size:
            found[value.name] = numpy_helper.from_array(np.asarray(given), value.name)
    return found


def model_with(
    case: Any, name: str, others: dict[str, TensorProto], *, outside: TensorProto | None
) -> ModelProto:
    """The case with `name` as an initializer, and the small ones of the others too."""
    model = ModelProto()
    model.CopyFrom(case.model)
    held = {**others, name: outside or constants(case)[name]}
    inputs = [one for one in model.graph.input if one.name not in held]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.graph.initializer.extend(held.values())
    for one in model.graph.output:
        if one.type.HasField("tensor_type"):
            one.type.tensor_type.ClearField("shape")
    return model


def inferred(model: ModelProto) -> bool:
    try:
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except onnx.shape_inference.InferenceError:
        return False
    return True


def measured() -> Iterator[tuple[str, int]]:
    """Inputs with which inference succeeds when they are inline, and not when they are external."""
    tried: Counter[tuple[str, int, bool]] = Counter()
    for case in node_cases():
        (*_, node) = case.model.graph.node
        if len(case.model.graph.node) > 1 or node.domain:
            continue
        known = constants(case)
        for index, name in enumerate(node.input):
            if name not in known:
                continue
            for alone in (True, False):
                key = node.op_type, index, alone
                tried[key] += 1
                if tried[key] > ENOUGH:
                    continue
                first = node.input[0]
                others = {} if alone else {k: v for k, v in known.items() if k not in (name, first)}
                if not alone and node.op_type in ("Range", "MelWeightMatrix"):
                    others = {k: v for k, v in known.items() if k != name}
                outside = point(known[name], (("location", DATA), ("offset", "0")))
                inline = model_with(case, name, others, outside=None)
                external = model_with(case, name, others, outside=outside)
                if inferred(inline) and not inferred(external):
                    yield node.op_type, index


def test_the_table_is_what_onnx_refuses() -> None:
    found = set(measured())
    table = {(op, index) for op, inputs in SHAPE_INPUTS.items() for index in inputs}
    assert len(found) > 30
    assert found == table - {LENGTH_OF_DFT}


def outside(name: str, folder: Path, values: list[int]) -> TensorProto:
    """An external tensor of int64."""
    inline = numpy_helper.from_array(np.array(values, np.int64), name)
    with (folder / DATA).open("ab") as file:
        pairs = (("location", DATA), ("offset", str(file.tell())), ("length", str(8 * len(values))))
        file.write(inline.raw_data)
    return point(inline, pairs)


def found_in(source: Path) -> list[ShapeInput]:
    with inventory_of(source) as inventory:
        return list(shape_inputs(inventory))


def reshaping(shape: str, **initializers: TensorProto) -> onnx.GraphProto:
    value = helper.make_tensor_value_info("x", FLOAT, [6])
    result = helper.make_tensor_value_info("y", FLOAT, None)
    node = helper.make_node("Reshape", ["x", shape], ["y"], name="reshape")
    return helper.make_graph([node], "graph", [value], [result], list(initializers.values()))


def test_an_external_shape_is_found_and_onnxruntime_refuses_it(tmp_path: Path) -> None:
    source = write(tmp_path, reshaping("s", s=outside("s", tmp_path, [2, 3])))
    assert found_in(source) == [ShapeInput(0, "Reshape", 1)]
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception, match="external"):
        runtime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])


def test_what_feeds_no_shape_is_not_found(tmp_path: Path) -> None:
    graph = reshaping("s", s=numpy_helper.from_array(np.array([2, 3]), "s"))
    graph.initializer.append(outside("w", tmp_path, [1, 2]))
    graph.node.append(helper.make_node("Add", ["w", "w"], ["sum"]))
    graph.node.append(helper.make_node("Reshape", ["w", "s"], ["z"], domain="odd.custom"))
    assert found_in(write(tmp_path, graph)) == []


def test_a_shape_is_found_behind_a_constant(tmp_path: Path) -> None:
    graph = reshaping("s")
    value = outside("", tmp_path, [2, 3])
    graph.node.insert(0, helper.make_node("Constant", [], ["s"], value=value))
    assert [one.tensor for one in found_in(write(tmp_path, graph))] == [0]


@pytest.mark.parametrize("hides", [False, True])
def test_a_body_sees_the_names_around_it_and_hides_them(hides: bool, tmp_path: Path) -> None:
    inner = [numpy_helper.from_array(np.array([3, 2]), "s")] if hides else []
    nodes = [helper.make_node("Reshape", ["x", "s"], ["a"])]
    body = helper.make_graph(nodes, "body", [], [], inner)
    branch = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    graph = helper.make_graph([branch], "graph", [], [], [outside("s", tmp_path, [2, 3])])
    assert [one.tensor for one in found_in(write(tmp_path, graph))] == ([] if hides else [0])


def test_an_input_of_a_body_hides_the_name_around_it(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("s", TensorProto.INT64, [2])
    body = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["a"])], "b", [value], [])
    loop = helper.make_node("Loop", ["n", "c", "s"], ["y"], body=body)
    graph = helper.make_graph([loop], "graph", [], [], [outside("s", tmp_path, [2, 3])])
    assert found_in(write(tmp_path, graph)) == []


def test_shapes_inside_of_bodies_and_functions_are_found(tmp_path: Path) -> None:
    body = helper.make_graph(
        [helper.make_node("Reshape", ["x", "inner"], ["a"])],
        "body",
        [],
        [],
        [outside("inner", tmp_path, [2, 3])],
    )
    branch = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
    model = model_of(helper.make_graph([branch], "graph", [], []))
    value = outside("", tmp_path, [2, 3])
    nodes = [
        helper.make_node("Constant", [], ["s"], value=value),
        helper.make_node("Reshape", ["x", "s"], ["b"]),
    ]
    model.functions.append(
        helper.make_function("odd.custom", "F", ["x"], ["b"], nodes, [helper.make_opsetid("", 21)])
    )
    assert [one.tensor for one in found_in(write(tmp_path, model))] == [0, 1, 2]
