"""Models of nested graphs, made at random, with what each tensor feeds known as they are made."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

__all__ = ["Nested"]

OPS = (("", "Add"), ("", "MatMul"), ("ai.onnx", "MatMul"), ("my", "MatMul"), ("", "Constant2"))
Fed = tuple[str, str, int]


@dataclass
class Nested:
    """A random model. It need not run: names resolve as the standard has it."""

    seed: int
    feeds: dict[str, set[Fed]] = field(default_factory=dict)
    """Op inputs by the place of the tensor that goes into them."""
    model: onnx.ModelProto = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        graph = self.graph("graph", {}, depth=0)
        functions = [self.function(index) for index in range(self.rng.randrange(3))]
        self.model = helper.make_model(
            graph,
            functions=functions,
            opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("my", 1)],
            ir_version=10,
        )

    def name(self, around: dict[str, str | None]) -> str:
        """A new name, or one that hides a name from around."""
        if around and self.rng.random() < 0.3:
            return self.rng.choice(sorted(around))
        self.count += 1
        return f"v{self.count}"

    def tensor(self, name: str) -> onnx.TensorProto:
        values = np.full(self.rng.choice([(1,), (2, 3), (20, 20)]), self.count, np.float32)
        return numpy_helper.from_array(values, name)

    def graph(self, place: str, around: dict[str, str | None], depth: int) -> onnx.GraphProto:
        """A graph; `around` says which place each name stands for, None where it is no tensor."""
        own: dict[str, str | None] = {}
        inputs = self.names(around, own, self.rng.randrange(3))
        weights = self.names(around, own, self.rng.randrange(4))
        own.update({name: f"{place}.initializer[{at}]" for at, name in enumerate(weights)})
        also_inputs = [name for name in weights if self.rng.random() < 0.2]
        nodes = self.nodes(place, around, own, depth)
        return helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info(one, 1, None) for one in (*inputs, *also_inputs)],
            [helper.make_tensor_value_info(one, 1, None) for one in sorted(own)[:2]],
            initializer=[self.tensor(name) for name in weights],
        )

    def function(self, index: int) -> onnx.FunctionProto:
        own: dict[str, str | None] = {}
        inputs = self.names({}, own, 2)
        nodes = self.nodes(f"functions[{index}]", {}, own, depth=1)
        return helper.make_function(
            "my", f"f{index}", inputs, sorted(own)[:1], nodes, [helper.make_opsetid("", 20)]
        )

    def names(
        self, around: dict[str, str | None], own: dict[str, str | None], count: int
    ) -> list[str]:
        made = [name for name in (self.name(around) for _ in range(count)) if name not in own]
        made = list(dict.fromkeys(made))
        own.update(dict.fromkeys(made))
        return made

    def nodes(
        self,
        place: str,
        around: dict[str, str | None],
        own: dict[str, str | None],
        depth: int,
    ) -> list[onnx.NodeProto]:
        """Nodes of one graph; first what each makes, so that all names are known."""
        outputs = self.names(around, own, self.rng.randrange(1, 6))
        constants = {name for name in outputs if self.rng.random() < 0.4}
        for at, name in enumerate(outputs):
            if name in constants:
                own[name] = f"{place}.node[{at}].attribute[0].t"
        seen = {**around, **own}
        nodes = []
        for at, name in enumerate(outputs):
            if name in constants:
                nodes.append(helper.make_node("Constant", [], [name], value=self.tensor("")))
            else:
                nodes.append(self.node(f"{place}.node[{at}]", name, seen, depth))
        return nodes

    def node(
        self, place: str, output: str, seen: dict[str, str | None], depth: int
    ) -> onnx.NodeProto:
        domain, op_type = self.rng.choice(OPS)
        inputs = [self.rng.choice([*sorted(seen), ""]) for _ in range(self.rng.randrange(4))]
        for at, name in enumerate(inputs):
            where = seen.get(name)
            if where is not None:
                standard = "" if domain == "ai.onnx" else domain
                self.feeds.setdefault(where, set()).add((standard, op_type, at))
        node = helper.make_node(op_type, inputs, [output], domain=domain)
        if depth < 3 and self.rng.random() < 0.4:
            inner = self.graph(f"{place}.attribute[0].g", seen, depth + 1)
            node.attribute.append(helper.make_attribute("body", inner))
        elif depth < 3 and self.rng.random() < 0.2:
            graphs = [
                self.graph(f"{place}.attribute[0].graphs[{at}]", seen, depth + 1) for at in (0, 1)
            ]
            node.attribute.append(helper.make_attribute("bodies", graphs))
        return node
