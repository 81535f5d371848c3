"""Which passes can be named: ours, onnx-ir's, onnxscript's, and those of other distributions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields

import onnx_ir as ir
import pytest
from onnx_ir.passes import common

from onnx_align_pass import LayoutPolicy, StoragePolicy, UsageError
from onnx_align_pass.errors import BrokenPassError, UnknownPassError
from onnx_align_pass.registry.listing import PassInfo, list_passes
from onnx_align_pass.registry.lookup import find_pass
from onnx_align_pass.registry.registered import onnx_ir_entries
from onnx_align_pass.registry.spec import parse_pass, pass_text

from .conftest import Install
from .distribution import PASSES

NAMES = {
    "add-default-attributes": "AddDefaultAttributesPass",
    "checker": "CheckerPass",
    "clear-metadata-and-doc-string": "ClearMetadataAndDocStringPass",
    "common-subexpression-elimination": "CommonSubexpressionEliminationPass",
    "deduplicate-hashed-initializers": "DeduplicateHashedInitializersPass",
    "deduplicate-initializers": "DeduplicateInitializersPass",
    "lift-constants": "LiftConstantsToInitializersPass",
    "lift-constants-to-initializers": "LiftConstantsToInitializersPass",
    "lift-subgraph-initializers": "LiftSubgraphInitializersToMainGraphPass",
    "lift-subgraph-initializers-to-main-graph": "LiftSubgraphInitializersToMainGraphPass",
    "lift_constants": "LiftConstantsToInitializersPass",
    "name-fix": "NameFixPass",
    "Topological-Sort": "TopologicalSortPass",
}


def listed() -> dict[str, PassInfo]:
    return {one.name: one for one in list_passes()}


def problem_of(name: str, origin: str) -> str:
    (problem,) = [one.problem for one in list_passes() if (one.name, one.origin) == (name, origin)]
    assert problem is not None
    return problem


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_of_onnx_ir_has_the_name_of_its_class(name: str) -> None:
    assert type(parse_pass(name)) is getattr(common, NAMES[name])


def test_every_pass_of_onnx_ir_is_there() -> None:
    classes = [name for name in dir(common) if name.endswith("Pass")]
    found = [type(parse_pass(one.name)) for one in list_passes() if one.origin == "onnx-ir"]
    assert len(classes) > 10
    assert sorted(one.__name__ for one in found) == sorted(classes)


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], type]]:
    """Puts a pass of this class name into onnx-ir, for one test."""

    def add(name: str) -> type:
        made = type(name, (common.CheckerPass,), {"__doc__": "Do it."})
        monkeypatch.setattr(common, name, made, raising=False)
        monkeypatch.setattr(common, "__all__", [*common.__all__, name])
        onnx_ir_entries.cache_clear()
        return made

    yield add
    onnx_ir_entries.cache_clear()


def test_a_pass_that_a_newer_onnx_ir_has_shows_up(newer: Callable[[str], type]) -> None:
    made = newer("FoldONNXWeightsToFloatPass")
    info = listed()["fold-onnx-weights-to-float"]
    assert (info.origin, info.summary) == ("onnx-ir", "Do it.")
    assert "full_check" in [one.name for one in info.options]
    assert type(parse_pass("fold-onnx-weights")) is made


def test_a_short_name_that_would_mean_two_passes_means_none(newer: Callable[[str], type]) -> None:
    for name in ("FoldToFloatPass", "FoldToHalfPass", "CheckerToFilePass"):
        newer(name)
    found = {one.name: one.aliases for one in list_passes()}
    assert found["fold-to-float"] == found["fold-to-half"] == found["checker-to-file"] == ()
    assert type(parse_pass("checker")) is common.CheckerPass


def test_no_name_means_two_passes() -> None:
    names = [name for one in list_passes() for name in (one.name, *one.aliases)]
    assert len(set(names)) == len(names)


def test_ours_come_first_and_each_is_usable() -> None:
    found = list_passes()
    assert [one.name for one in found[:2]] == ["tag-external-data", "write-aligned"]
    assert [one.problem for one in found] == [None] * len(found)
    assert {one.origin for one in found} == {"onnx-align-pass", "onnx-ir", "onnxscript"}


def test_the_fields_of_a_policy_are_options_unless_they_are_code() -> None:
    code = {"external_if", "inline_if"}
    storage = {one.name: one.default for one in fields(StoragePolicy) if one.name not in code}
    layout = {one.name: one.default for one in fields(LayoutPolicy)}
    found = {
        name: {one.name: one.default for one in listed()[name].options}
        for name in ("tag-external-data", "write-aligned")
    }
    assert found["tag-external-data"] == storage
    assert found["write-aligned"].items() >= {**storage, **layout, "rebind": False}.items()
    (path,) = [one for one in listed()["write-aligned"].options if one.name == "path"]
    assert (path.type, path.required) == ("path", True)


def test_an_option_says_its_type_and_default() -> None:
    options = {
        f"{one.name}.{option.name}": (option.type, option.text)
        for one in list_passes()
        for option in one.options
    }
    wanted = {
        "checker.full_check": ("bool", "full_check=false"),
        "convert-version.target_version": ("int", "target_version=<int>"),
        "deduplicate-initializers.size_limit": ("int", "size_limit=1024"),
        "tag-external-data.external": ("str,...", "external=()"),
        "tag-external-data.size_threshold_bytes": ("size|none", "size_threshold_bytes=1024"),
        "write-aligned.data_name": ("str|none", "data_name=none"),
        "write-aligned.pad": ("none|file|tensor", "pad=none"),
    }
    assert {name: options[name] for name in wanted} == wanted


def test_code_is_no_option() -> None:
    assert listed()["inline"].options == ()
    assert listed()["name-fix"].options == ()


def test_a_summary_is_one_plain_sentence_about_the_pass_itself() -> None:
    for one in list_passes():
        assert one.summary.endswith("."), one
        assert not set(one.summary) & set("`\n\x1b"), one
    base = (ir.passes.InPlacePass.__doc__ or "").strip()
    assert base.startswith("A pass that modifies")
    assert base not in [one.summary for one in list_passes()]
    assert listed()["remove-unused-functions"].summary


def test_an_unknown_name_says_which_are_close_and_where_to_look() -> None:
    with pytest.raises(UnknownPassError) as error:
        find_pass("deduplicate-initialisers")
    assert isinstance(error.value, UsageError)
    assert "'deduplicate-initialisers'" in error.value.sentence
    assert "Did you mean deduplicate-initializers" in str(error.value)
    assert "`onnx-align passes`" in str(error.value)
    with pytest.raises(UnknownPassError) as error:
        find_pass("zzz")
    assert "Did you mean" not in str(error.value)


def test_another_distributions_pass_can_be_used_and_is_listed(install: Install) -> None:
    places = {"frobnicate": "frob_passes:FrobnicatePass", "gentle": "frob_passes:gentle"}
    install("frob-tools", places, {"frob_passes": PASSES})
    info = listed()["frobnicate"]
    assert (info.origin, info.problem) == ("frob-tools", None)
    assert info.summary == "Frobnicate Node by force, as frob does."
    assert [one.text for one in info.options] == [
        "ratio=0.5",
        "mode=soft",
        "label=none",
        "names=a,b",
        "folder=none",
        "plain=7",
        "chunk_bytes=4096",
        "maybe=none",
    ]
    assert listed()["gentle"].summary == "Frobnicate, but gently."
    assert vars(parse_pass("gentle{times=3}"))["ratio"] == 0.75


def test_the_policy_of_somebody_else_counts_as_its_fields_too(install: Install) -> None:
    install("frob-tools", {"policy": "frob_passes:PolicyPass"}, {"frob_passes": PASSES})
    info = listed()["policy"]
    assert [one.text for one in info.options] == ["limit=3", "names=a", "others=b"]
    assert info.summary == "Policy."
    made = parse_pass("policy{names=x,y}")
    assert pass_text(made) == "policy{names=x,y}"
    assert pass_text(parse_pass("policy{limit=1 others=()}")) == "policy{limit=1 others=()}"
    assert parse_pass(pass_text(made)) == made != parse_pass("policy")


def test_what_a_function_made_has_no_name_since_others_may_make_the_same(install: Install) -> None:
    install("frob-tools", {"gentle": "frob_passes:gentle"}, {"frob_passes": PASSES})
    made = parse_pass("gentle")
    with pytest.raises(UnknownPassError, match=r"frob_passes\.FrobnicatePass is not a registered"):
        pass_text(made)


BROKEN = {
    "gone": ("no_such_module:Pass", "ModuleNotFoundError: No module named 'no_such_module'"),
    "lost": ("frob_passes:LostPass", "has no attribute 'LostPass'"),
    "crash": ("frob_crash:Pass", "ZeroDivisionError"),
    "exit": ("frob_exit:Pass", "SystemExit"),
    "own": ("frob_own:Pass", "Mine: a base exception"),
    "number": ("frob_passes:number", "frob_passes:number is not a pass"),
    "path": ("pathlib:Path", "pathlib:Path is not a pass"),
    "needs-code": ("frob_passes:NeedsCodePass", "needs accept, which no text can say"),
    "twice": ("frob_passes:twice", "its options cannot be told: 2 are called limit"),
    "builtin": ("builtins:dict.fromkeys", "needs iterable, which no text can say"),
}


OWN = """
class Mine(BaseException): ...
raise Mine("a base exception")
"""


def install_broken(install: Install) -> None:
    install(
        "frob-tools",
        {"frobnicate": "frob_passes:FrobnicatePass", **{k: v[0] for k, v in BROKEN.items()}},
        {
            "frob_passes": PASSES,
            "frob_crash": "1 / 0",
            "frob_exit": "raise SystemExit('\\x1b[2J')",
            "frob_own": OWN,
        },
    )


@pytest.mark.parametrize("name", BROKEN)
def test_a_pass_that_is_not_usable_is_listed_with_the_reason(name: str, install: Install) -> None:
    install_broken(install)
    reason = problem_of(name, "frob-tools")
    assert BROKEN[name][1] in reason
    assert reason.isprintable()
    assert listed()["frobnicate"].problem is None
    with pytest.raises(BrokenPassError) as error:
        parse_pass(name)
    assert BROKEN[name][1] in str(error.value)
    assert "frob-tools" in str(error.value)


def test_a_function_that_makes_no_pass_is_a_named_error(install: Install) -> None:
    install("frob-tools", {"nothing": "frob_passes:nothing"}, {"frob_passes": PASSES})
    with pytest.raises(BrokenPassError, match="it makes a NoneType"):
        parse_pass("nothing")


@pytest.mark.parametrize("name", ["checker", "lift-constants", "convert-version", "write-aligned"])
def test_a_name_that_is_taken_stays_with_its_owner(name: str, install: Install) -> None:
    before = find_pass(name)
    install("frob-tools", {name: "frob_passes:FrobnicatePass"}, {"frob_passes": PASSES})
    assert find_pass(name) == before
    assert before.origin in problem_of(name, "frob-tools")


@pytest.mark.parametrize("order", [("zebra", "aardvark"), ("aardvark", "zebra")])
def test_of_two_distributions_the_first_by_name_has_a_name(
    order: tuple[str, str], install: Install
) -> None:
    for name in order:
        install(name, {"twice": "frob_passes:FrobnicatePass"}, {"frob_passes": PASSES})
    assert find_pass("twice").origin == "aardvark"
    assert "of aardvark" in problem_of("twice", "zebra")
    assert pass_text(parse_pass("twice")) == "twice"


@pytest.mark.parametrize("name", ["Twice", "two_words", "-x", "x--y", "ü", "a.b"])
def test_a_name_of_another_form_is_listed_and_not_used(name: str, install: Install) -> None:
    install("frob-tools", {name: "frob_passes:FrobnicatePass"}, {"frob_passes": PASSES})
    assert "small letters" in problem_of(name, "frob-tools")
    with pytest.raises(UsageError):
        parse_pass(name)


def test_asking_for_one_pass_imports_no_other(install: Install) -> None:
    install("frob-tools", {"crash": "frob_crash:Pass"}, {"frob_crash": "1 / 0"})
    code = (
        "import json, sys\n"
        f"sys.path[:0] = {[entry for entry in sys.path if entry]!r}\n"
        "from onnx_align_pass.registry.spec import parse_pass, pass_text\n"
        "print(pass_text(parse_pass('checker')), pass_text(parse_pass('tag-external-data')))\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    said, loaded = done.stdout.splitlines()
    assert said == "checker tag-external-data"
    assert not {"onnxscript", "frob_crash", "onnx_align_pass.pipeline"} & set(json.loads(loaded))


def test_a_distribution_whose_entry_points_cannot_be_read_hides_no_other(install: Install) -> None:
    folder = install("bad-tools", {})
    (info,) = folder.glob("*.dist-info")
    (info / "entry_points.txt").write_text("[onnx_align_pass.passes]\nno equals sign\n")
    install("frob-tools", {"frobnicate": "frob_passes:FrobnicatePass"}, {"frob_passes": PASSES})
    found = listed()
    assert found["bad-tools"].problem == "its entry_points.txt cannot be read"
    assert found["frobnicate"].problem is None
    assert parse_pass("frobnicate")
    with pytest.raises(UnknownPassError):
        parse_pass("nosuch")
