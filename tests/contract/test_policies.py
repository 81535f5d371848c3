"""A policy proves itself at birth: each bad value is a named error that says what is needed."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnx_align_pass import AlignError, LayoutPolicy, PolicyError, StorageDecision, StoragePolicy
from onnx_align_pass.tensors import Slot, SlotKind, TensorFacts

BAD_STORAGE: list[dict[str, Any]] = [
    {"size_threshold_bytes": -1},
    {"size_threshold_bytes": 0.5},
    {"size_threshold_bytes": math.nan},
    {"size_threshold_bytes": "1024"},
    {"size_threshold_bytes": True},
    {"external": ("(",)},
    {"inline": ("a", "*")},
    {"external": ("a{99999999999999999999}",)},
    {"external": "weight"},
    {"external": ["weight"]},
    {"inline": (b"weight",)},
    {"inline": (None,)},
]
BAD_LAYOUT: list[dict[str, Any]] = [
    *({"alignment": bad} for bad in (0, -1, -4096, 3, 4095, 6000, 64.0, "64", None, True, 1 << 41)),
    *({"small_alignment": bad} for bad in (0, -1, 3, 2.0, "1", True)),
    *({"align_threshold": bad} for bad in (-1, 0.5, "0", None)),
    *({"max_shard_size_bytes": bad} for bad in (0, -1, 1.5, "2GB")),
    *({"pad": bad} for bad in ("", "both", None, "File", 0)),
    *({"data_name": bad} for bad in ("", "/abs", "a/", "a//b", "./a", "a/./b", "..", "../a")),
    *({"data_name": bad} for bad in ("a..b", "a\\b", "c:a", "a\nb", "a\0b", "\x7f", "\udcff", 5)),
]
BAD_LAYOUT += [
    *({name: bad} for name in ("max_file_bytes", "max_files") for bad in (0, -1, 1.5, "2GB", True)),
    *({"data_name": bad} for bad in ("{shards}", "{stem}.{shards}", "{x}", "{", "}", "{{stem}}")),
    # without the number, as the first shard has it, each is no name
    *({"data_name": bad} for bad in ("{_n}", "{_n}/w", "w/{_n}", "w.{_n}.data", "c{_n}:w")),
]
BAD_DECISION: list[dict[str, Any]] = [
    *({"alignment": bad} for bad in (0, 3, -64, "64", 1 << 41)),
    *({"group": bad} for bad in ("", "../a", "/a", "a\\b", 5, "{shards}", "a/{_n}", "{y}")),
]


def label(fields: dict[str, Any]) -> str:
    return ascii(fields)


@pytest.mark.parametrize("fields", BAD_STORAGE, ids=label)
def test_a_bad_storage_policy_cannot_be_made(fields: dict[str, Any]) -> None:
    assert_refused(StoragePolicy, fields)


@pytest.mark.parametrize("fields", BAD_LAYOUT, ids=label)
def test_a_bad_layout_policy_cannot_be_made(fields: dict[str, Any]) -> None:
    assert_refused(LayoutPolicy, fields)


@pytest.mark.parametrize("fields", BAD_DECISION, ids=label)
def test_a_bad_decision_cannot_be_made(fields: dict[str, Any]) -> None:
    assert_refused(StorageDecision, {"external": True, "reason": "asked", **fields})


def assert_refused(policy: type, fields: dict[str, Any]) -> None:
    with pytest.raises(PolicyError) as error:
        policy(**fields)
    assert isinstance(error.value, ValueError)
    assert isinstance(error.value, AlignError)
    text = str(error.value)
    assert text.isprintable()
    assert " cannot be " in text
    assert "needed " in text
    assert error.value.needed
    assert "Traceback" not in text


def test_the_text_names_the_option_the_value_and_what_is_needed() -> None:
    with pytest.raises(PolicyError) as error:
        LayoutPolicy(alignment=1000)
    assert str(error.value) == (
        "alignment cannot be 1000 (needed a power of two, such as 64, 4096 or 65536)"
    )


@given(power=st.integers(0, 40))
def test_every_power_of_two_is_an_alignment(power: int) -> None:
    assert LayoutPolicy(alignment=1 << power).alignment_of(10, 8, None) == 1 << power


@pytest.mark.parametrize(
    "name",
    [
        *("w", "w.data", "{model}.data", "{stem}_data", "deep/er/w", "重み.bin", " w ", "-w", ".w"),
        *(
            "{model}_data{_n}",
            "w-{shard}",
            "{shard}-of-{shards}/w",
            "{shards}{_n}",
            "w.safetensors",
        ),
    ],
)
def test_a_plain_name_is_a_data_name(name: str) -> None:
    assert LayoutPolicy(data_name=name).data_name == name
    assert StorageDecision(True, "asked", group=name).group == name


@pytest.mark.parametrize("policy", [StoragePolicy(), LayoutPolicy(), StorageDecision(True, "why")])
def test_a_policy_is_a_frozen_value(policy: Any) -> None:
    assert policy == type(policy)(**{name: getattr(policy, name) for name in policy.__slots__})
    assert hash(policy) == hash(policy)
    with pytest.raises(AttributeError):
        setattr(policy, policy.__slots__[0], 1)


def facts(
    nbytes: int,
    *,
    shape: tuple[int, ...] = (2, 2),
    kind: SlotKind = SlotKind.INITIALIZER,
    external: bool = False,
    bits: int = 8,
    dtype: str = "UINT8",
) -> TensorFacts:
    return TensorFacts(
        Slot("graph.initializer[0]", "w", kind), dtype, shape, nbytes, bits, external
    )


DECIDED: list[tuple[str, StoragePolicy, TensorFacts, bool]] = [
    ("at the threshold", StoragePolicy(), facts(1024), True),
    ("below it", StoragePolicy(), facts(1023, external=True), False),
    ("no threshold keeps inline", StoragePolicy(size_threshold_bytes=None), facts(9999), False),
    ("and external", StoragePolicy(size_threshold_bytes=None), facts(1, external=True), True),
    ("threshold 0", StoragePolicy(size_threshold_bytes=0), facts(1), True),
    ("an empty tensor", StoragePolicy(size_threshold_bytes=0), facts(0, external=True), False),
    ("even when asked", StoragePolicy(external=("w",)), facts(0), False),
    ("a string", StoragePolicy(size_threshold_bytes=0), facts(0, bits=0, dtype="STRING"), False),
    ("a shape input", StoragePolicy(size_threshold_bytes=8), facts(8, shape=(8,)), False),
    ("a scalar", StoragePolicy(size_threshold_bytes=0), facts(8, shape=()), False),
    ("a vector over 1 KiB", StoragePolicy(), facts(1025, shape=(1025,)), True),
    ("a vector of 1 KiB", StoragePolicy(), facts(1024, shape=(1024,)), False),
    ("asked by name", StoragePolicy(external=("w",)), facts(8, shape=(8,)), True),
    ("not by a part of it", StoragePolicy(external=("",)), facts(8), False),
    ("inline wins", StoragePolicy(external=("w",), inline=("w",)), facts(9999), False),
    ("asked by a predicate", StoragePolicy(external_if=lambda f: f.nbytes == 8), facts(8), True),
    ("inline by one", StoragePolicy(inline_if=lambda f: True), facts(9999), False),
    ("an attribute", StoragePolicy(), facts(9999, kind=SlotKind.ATTRIBUTE), True),
    (
        "an attribute when they do not count",
        StoragePolicy(convert_attribute=False),
        facts(9999, kind=SlotKind.ATTRIBUTE),
        False,
    ),
    (
        "unless it is external already",
        StoragePolicy(convert_attribute=False),
        facts(8, kind=SlotKind.ATTRIBUTE, external=True),
        True,
    ),
    ("inline sparse", StoragePolicy(), facts(9999, kind=SlotKind.SPARSE), False),
    ("external sparse", StoragePolicy(), facts(8, kind=SlotKind.SPARSE, external=True), True),
    ("inline training", StoragePolicy(), facts(9999, kind=SlotKind.TRAINING), False),
    ("external training", StoragePolicy(), facts(8, kind=SlotKind.TRAINING, external=True), True),
]


@pytest.mark.parametrize(
    ("policy", "tensor", "external"), [row[1:] for row in DECIDED], ids=[row[0] for row in DECIDED]
)
def test_a_tensor_is_where_the_policy_says(
    policy: StoragePolicy, tensor: TensorFacts, external: bool
) -> None:
    decision = policy.decide(tensor)
    assert decision.external == external
    assert decision.reason
