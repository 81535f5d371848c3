"""Cases: what a rewrite must carry along: unknown fields, annotations, metadata, doc strings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onnx import AttributeProto, ModelProto, TensorProto, helper

from . import wire
from .attributes import constants, custom_node
from .build import FLOAT, model_of, show, showing, write
from .case import CaseBook
from .places import four_tensors
from .sparse import training

__all__ = ["CASES"]

CASES = CaseBook()


def messages(message: Any) -> list[Any]:
    """The protobuf message and every message that is set inside it, in depth."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for child in value if field.is_repeated else [value]:
                found += messages(child)
    return found


def rich_model(folder: Path) -> ModelProto:
    """A model with something in most kinds of message."""
    model = training(folder, outside=True)
    graph = model.graph
    graph.node.extend(constants(four_tensors(folder, "constant")))
    show(graph, "constant.large", [17, 19])
    graph.value_info.append(helper.make_tensor_value_info("constant.large", FLOAT, [17, "n"]))
    annotation = graph.quantization_annotation.add(tensor_name="w.large")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w.small")
    model.metadata_props.add(key="author", value="corpus")
    return model


def reordered(model: ModelProto) -> ModelProto:
    """The model with its Constants before the nodes that use them."""
    nodes = sorted(model.graph.node, key=lambda node: node.op_type != "Constant")
    kept = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    return model


@CASES.add()
def unknown_fields_everywhere(folder: Path) -> Path:
    """Unknown fields of every wire type in every message of the model."""
    model = reordered(rich_model(folder))
    for seed, message in enumerate(messages(model)):
        message.MergeFromString(wire.unknown(seed))
    return write(folder, model)


@CASES.add()
def metadata_everywhere(folder: Path) -> Path:
    """metadata_props and doc_string wherever a message has them."""
    model = reordered(rich_model(folder))
    for seed, message in enumerate(messages(model)):
        if hasattr(message, "metadata_props"):
            for key, value in (("first", "1"), ("empty", ""), (f"key {seed}", "ä" * seed)):
                message.metadata_props.add(key=key, value=value)
        if hasattr(message, "doc_string"):
            message.doc_string = f"# Doc {seed}\n\nÄ text, not a weight."
    return write(folder, model)


@CASES.add(checker=False)
def metadata_keys_twice(folder: Path) -> Path:
    """Keys of metadata_props given twice, in the model, the graph and a tensor."""
    model = model_of(showing(four_tensors(folder, "w")))
    holders: list[Any] = [model, model.graph, *model.graph.initializer]
    for message in holders:
        for value in ("first", "second"):
            message.metadata_props.add(key="key", value=value)
    return write(folder, model)


@CASES.add()
def metadata_larger_than_weights(folder: Path) -> Path:
    """A doc string and a metadata value of 1 MB each: large fields that are not weights."""
    model = model_of(showing(four_tensors(folder, "w")))
    model.doc_string = "doc " * 250_000
    model.graph.initializer[0].doc_string = "doc " * 250_000
    model.metadata_props.add(key="large", value="meta" * 250_000)
    return write(folder, model)


@CASES.add()
def device_configuration(folder: Path) -> Path:
    """Device configurations of the model and of its nodes."""
    model = model_of(showing(four_tensors(folder, "w")), ir_version=11)
    model.configuration.add(name="two", num_devices=2, device=["cpu:0", "cpu:1"])
    for node in model.graph.node:
        configuration = node.device_configurations.add(configuration_id="two", pipeline_stage=1)
        spec = configuration.sharding_spec.add(tensor_name=node.input[0], device=[0, 1])
        spec.sharded_dim.add(axis=0).simple_sharding.add(num_shards=2)
    return write(folder, model)


@CASES.add(runs=False)
def other_large_attributes(folder: Path) -> Path:
    """Attributes that are large and not tensors: floats, ints, strings, s; large names."""
    node = custom_node(
        helper.make_attribute("floats", [index / 8 for index in range(2_000)]),
        helper.make_attribute("ints", list(range(-1_000, 1_000))),
        helper.make_attribute("strings", [b"\xff\x00" * index for index in range(60)]),
        helper.make_attribute("s", b"\x08\x01" * 3_000),
    )
    graph = showing(four_tensors(folder, "w"))
    graph.node.append(node)
    return write(folder, graph)


@CASES.add()
def future_versions_inside(folder: Path) -> Path:
    """Enum values that this onnx does not know, kept by protobuf as unknown fields.

    `data_location` 7 of an inline tensor means DEFAULT; 1 and then 7 means EXTERNAL.
    """
    graph = showing(four_tensors(folder, "w"))
    for initializer in graph.initializer:
        initializer.MergeFromString(wire.varint_field(14, 7))
    attribute = AttributeProto()
    attribute.MergeFromString(wire.varint_field(20, 99))
    assert not attribute.HasField("type")
    assert graph.initializer[1].data_location == TensorProto.EXTERNAL
    return write(folder, graph)
