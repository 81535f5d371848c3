"""Any text where the project reads one: a value, or a named error that is fit to show.

The first byte chooses what reads it; the rest is the text, as a command line hands it over.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import safetensors
from safetensors import SafetensorError

from onnx_align_pass import (
    LayoutPolicy,
    StoragePolicy,
    UsageError,
    find_preset,
    parse_pass,
    parse_rule,
    pass_text,
    rule_text,
)
from onnx_align_pass.errors import RuleTextError, SizeError
from onnx_align_pass.layout.names import data_base, is_location, shard_name
from onnx_align_pass.layout.safetensors_header import read_header
from onnx_align_pass.printable import printable
from onnx_align_pass.units import parse_size

from .scratch import assert_fit_to_show

__all__ = ["HEAD", "edited", "one_input", "seeds"]

HEAD = 1
DESERIALIZE: Any = safetensors.deserialize
"""It has no types."""
SHALLOW = 100
MODEL_NAMES = ("model.onnx", "..onnx", "a{model}{shard}.onnx", "\udcff\u202e:.ONNX")


def rule(text: str) -> None:
    """A rule is written so that it is read back as itself."""
    try:
        found = parse_rule(text)
    except RuleTextError as error:
        assert_fit_to_show(error)
    else:
        assert parse_rule(rule_text(found)) == found


def size(text: str) -> None:
    """A size is a whole number of bytes."""
    try:
        found = parse_size(text)
    except SizeError as error:
        assert_fit_to_show(error)
    else:
        assert parse_size(str(found)) == found >= 0


def pass_(text: str) -> None:
    """A pass is written so that it is read back as itself."""
    try:
        found = parse_pass(text)
    except UsageError as error:
        assert_fit_to_show(error)
    else:
        written = pass_text(found)
        assert pass_text(parse_pass(written)) == written


def data_name(text: str) -> None:
    """A template makes names that a model may point at, each shard another."""
    try:
        layout = LayoutPolicy(data_name=text)
        bases = [data_base(layout.data_name or "", name) for name in MODEL_NAMES]
    except UsageError as error:
        assert_fit_to_show(error)
        return
    for base in bases:
        names = [shard_name(base, shard, 3) for shard in (1, 2, 3)]
        assert len(set(names)) == 3
        assert all(is_location(name) for name in (*names, shard_name(base, 1, 1))), names


def pattern(text: str) -> None:
    """A pattern is a regular expression, or refused."""
    try:
        StoragePolicy(external=(text,))
    except UsageError as error:
        assert_fit_to_show(error)


def preset(text: str) -> None:
    """A preset is one that there is."""
    try:
        find_preset(text)
    except UsageError as error:
        assert_fit_to_show(error)


def shown(text: str) -> None:
    """Nothing that a terminal acts on is left."""
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)


def header(text: str) -> None:
    """A safetensors file is one where the library takes it."""
    content = os.fsencode(text)
    head, body = content[:-9], content[-9:]
    data = (len(head) + 1).to_bytes(8, "little") + b"{" + head + body
    found = read_header(lambda at, length: data[at : at + length], len(data))
    if found is None or found.problem is not None:
        assert found is None or not found.entries
        return
    assert all(
        found.nbytes <= one.offset <= one.offset + one.length <= len(data) for one in found.entries
    )
    # Where no field of ours is, the library refuses what nests too deep for it.
    assert accepted(data) or head.count(b"[") + head.count(b"{") > SHALLOW


def accepted(data: bytes) -> bool:
    """Whether the safetensors library takes a file."""
    try:
        DESERIALIZE(data)
    except SafetensorError:
        return False
    return True


READERS: tuple[Callable[[str], None], ...] = (
    rule, size, pass_, data_name, pattern, preset, shown, header
)  # fmt: skip

SEEDS: dict[Callable[[str], None], tuple[str, ...]] = {
    rule: (
        "decoder.*: alignment=64KiB",
        'a:b::c: dtype=FLOAT16|INT8 min-size=1MiB max-size=2GB input=MatMul.1 inline group="x y"',
        ".*: external, group=a/b.{shard}",
    ),
    size: ("4096", " 1.5 MiB ", "2GB", "0.0000001TB"),
    pass_: (
        "checker",
        "checker{full_check=true}",
        "lift-constants{size_limit=16 lift_all_constants=false}",
        'tag-external-data{size_threshold_bytes=4KiB external=a,"b c" rules=".*: inline"}',
        "write-aligned{path=a pad=file alignment=64 dedupe=true max_shard_size_bytes=none}",
    ),
    data_name: ("{model}.data", "{stem}-{shard}-of-{shards}.bin", "a/{stem}{_n}.safetensors"),
    pattern: ("a|(b)*c[^d]{2}", "(?i:x)\\d+", "(?P<n>a)(?P=n)"),
    preset: ("onnxruntime", "mmap", "packed"),
    shown: ("plain", "\x1b[31m\u202e\udcff"),
    header: (
        '"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}} 12345678',
        '"__metadata__":{"a":"b"},"b":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}}123456789',
        '"__pad_0__":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},'
        '"c":{"dtype":"I8","shape":[5],"data_offsets":[4,9]}}123456789',
    ),
}
WORDS = (
    *(
        "{model}",
        "{stem}",
        "{shard}",
        "{shards}",
        "{_n}",
        "{{",
        "}}",
        "..",
        "/",
        "\\",
        ":",
        ": ",
        "::",
    ),
    *(
        "=",
        ",",
        '"',
        "'",
        "|",
        " ",
        "\t",
        "\n",
        "\0",
        "\u202e",
        "\udcff",
        "\ud800",
        "\u0663",
        "\uff11",
    ),
    *(
        "alignment=",
        "min-size=",
        "dtype=",
        "input=",
        "group=",
        "external",
        "inline",
        "none",
        "true",
    ),
    *(
        "KiB",
        "1e9",
        "-1",
        "9" * 400,
        "1" * 5000,
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "*",
        "+",
        "?",
        "(?",
        ".",
    ),
    *(
        '"dtype":',
        '"shape":',
        '"data_offsets":',
        "[0,0]",
        "[4,9]",
        "1.0",
        "1e0",
        "-0",
        "NaN",
        "null",
    ),
    *('"a":', '"\\ud800"', '"__metadata__":{}', '"F4"', '"BF16"', "18446744073709551615", "\\"),
    *("[" * 990, "(" * 990, "a" * 300, ".onnx", ".safetensors", "<f>", "1e999", '"dtype":"U8",'),
    *('{"a":' * 600 + "1" + "}" * 600, '{"a":' * 99 + "1" + "}" * 99, "[" * 480 + "]" * 480),
)
"""Parts of texts that mean something somewhere."""


def one_input(data: bytes) -> None:
    """Read a text."""
    if len(data) >= HEAD:
        READERS[data[0] % len(READERS)](os.fsdecode(data[HEAD:]))


def edited(body: bytes, most: int, seed: int) -> bytes:
    """The text with words put in, left out or doubled."""
    rng = random.Random(seed)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(body) + 1)
        end = min(len(body), at + rng.choice((0, 0, 1, 2, 8)))
        word = rng.choice(WORDS).encode("utf-8", "surrogatepass")
        body = body[:at] + rng.choice((word, word, b"", body[at:end] * 2)) + body[end:]
    return body[:most]


def seeds() -> Iterator[bytes]:
    """Good texts of each kind."""
    for index, reader in enumerate(READERS):
        yield from (bytes([index]) + os.fsencode(text) for text in SEEDS[reader])
