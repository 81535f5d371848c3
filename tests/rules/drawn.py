"""Rules, and tensors that they may match: few values of each, so that many do."""

from __future__ import annotations

from hypothesis import strategies as st

from onnx_align_pass.policy import StoragePolicy
from onnx_align_pass.rules import Rule
from onnx_align_pass.tensors import Slot, SlotKind, TensorFacts

__all__ = ["FACTS", "POLICIES", "RULES"]

NAMES = ("encoder.0.w", "encoder.1.w", "decoder.0.w", "onnx::MatMul_7", "a: b", "重み")
PATTERNS = (
    None,
    ".*",
    r"encoder\..*",
    r".*\.0\.w",
    "onnx::.*",
    "a: .",
    r"onnx::MatMul_\d+",
    "w",
    "encoder",
    "重.",
)
TYPES = {"FLOAT": 32, "FLOAT16": 16, "INT4": 4, "INT64": 64}
SIZES = (1, 64, 1000, 1024, 4096, 1 << 20, (1 << 20) + 1)
OPS = ("MatMul", "Gather", "ai.onnx::MatMul", "com.microsoft::MatMulNBits", "my::MatMul")
FEEDS = (
    ("", "MatMul", 0),
    ("", "MatMul", 1),
    ("", "Gather", 0),
    ("com.microsoft", "MatMulNBits", 1),
    ("my", "MatMul", 1),
)
GROUPS = ("x.data", "deep/y.data", "{stem}.experts", "two words, and: a colon", 'quo"ted', "=")

WISHES = st.fixed_dictionaries(
    {},
    optional={
        "alignment": st.sampled_from((1, 64, 4096, 1 << 40)),
        "external": st.booleans(),
        "group": st.sampled_from(GROUPS),
    },
).filter(bool)
CONDITIONS = st.fixed_dictionaries(
    {"name": st.sampled_from(PATTERNS)},
    optional={
        "dtype": st.lists(st.sampled_from(sorted(TYPES)), max_size=2).map(tuple),
        "min_bytes": st.sampled_from((0, 1, 64, 1001)),
        "max_bytes": st.sampled_from((1001, 4096, 1 << 20)),
        "inputs": st.lists(
            st.tuples(st.sampled_from(OPS), st.sampled_from((None, 0, 1))), max_size=2
        ).map(tuple),
    },
)
RULES = st.builds(lambda wishes, conditions: Rule(**wishes, **conditions), WISHES, CONDITIONS)


@st.composite
def tensors(draw: st.DrawFn) -> TensorFacts:
    dtype = draw(st.sampled_from(sorted(TYPES)))
    nbytes = draw(st.sampled_from(SIZES))
    slot = Slot(
        "graph.initializer[0]", draw(st.sampled_from(NAMES)), draw(st.sampled_from(SlotKind))
    )
    feeds = draw(st.sets(st.sampled_from(FEEDS), max_size=3))
    return TensorFacts(
        slot, dtype, (1, nbytes), nbytes, TYPES[dtype], draw(st.booleans()), tuple(sorted(feeds))
    )


FACTS = tensors()
POLICIES = st.builds(
    StoragePolicy,
    size_threshold_bytes=st.sampled_from((None, 0, 1024)),
    convert_attribute=st.booleans(),
    external=st.sampled_from(((), (r"decoder\..*",), (".*",))),
    inline=st.sampled_from(((), (), (r".*\.1\.w",))),
    rules=st.lists(RULES, max_size=4).map(tuple),
)
