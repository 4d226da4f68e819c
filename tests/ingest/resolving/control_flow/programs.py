"""Random programs, each as a model with control flow and as one that is written out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from hypothesis import strategies as st

from benanza_schemas.given_values import Element

PARTS = 4
"""What a Scan takes apart is so long."""

_PLAIN = ("Relu", "Neg", "MatMul", "Add")


@dataclass(frozen=True)
class Plain:
    """An operator on the value at hand."""

    op: str


@dataclass(frozen=True)
class Choice:
    """An If on an input."""

    condition: bool
    then: "Block"
    otherwise: "Block"


@dataclass(frozen=True)
class Repeat:
    """A Loop that an input ends, or whose number of steps an input says; with `scan`, a Scan. The
    values of its steps are summed.
    """

    kind: str
    times: int
    body: "Block"


Block = tuple[Plain | Choice | Repeat, ...]


def _blocks(inner: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    statement = (
        st.builds(Plain, st.sampled_from(_PLAIN))
        | st.builds(Choice, st.booleans(), inner, inner)
        | st.builds(
            Repeat, st.sampled_from(("count", "condition", "scan")), st.integers(0, 3), inner
        )
    )
    return st.lists(statement, min_size=1, max_size=3).map(tuple)


_LEAVES = st.lists(st.builds(Plain, st.sampled_from(_PLAIN)), min_size=1, max_size=2).map(tuple)
PROGRAMS: st.SearchStrategy[Block] = st.recursive(_LEAVES, _blocks, max_leaves=6)


@dataclass
class Written:
    """The text of a model, whose control flow is written out if `flat`, and the inputs that decide
    what runs, with their types and values. `joined` are the values that steps added to.
    """

    flat: bool
    inputs: dict[str, tuple[str, Element]] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)
    _count: int = 0

    def text(self) -> str:
        """The model as text. What steps add to is returned where it isn't in a body."""
        around = [line.partition(" = ")[0].split(", ") for line in self.lines]
        outputs = [name for name in self.joined for names in around if name in names]
        given = (
            ""
            if self.flat
            else "".join(f", {dtype} {name}" for name, (dtype, _) in self.inputs.items())
        )
        constants = ", ".join(self.constants.values())
        returned = ", ".join(["z", *outputs])
        return (
            f"g (float[3,3] x, float[{PARTS},3,3] parts{given}) => ({returned}) <{constants}> {{"
            f" {' '.join(self.lines)} }}"
        )

    def new(self, name: str = "v") -> str:
        """A new name."""
        self._count += 1
        return f"{name}{self._count}"

    def given(self, dtype: str, value: Element) -> str:
        """The name of a new input with this value."""
        name = self.new("given")
        self.inputs[name] = (dtype, value)
        return name

    def ints(self, *numbers: int) -> str:
        """The name of a constant vector."""
        name = "i" + "_".join(map(str, numbers))
        listed = ", ".join(map(str, numbers))
        self.constants[name] = f"int64[{len(numbers)}] {name} = {{{listed}}}"
        return name

    def add(self, call: str, results: int = 1) -> list[str]:
        """Adds a call with so many results, and returns their names."""
        names = [self.new() for _ in range(results)]
        self.lines.append(f"{', '.join(names)} = {call}")
        return names

    def block(self, block: Block, value: str) -> str:
        """Writes a block that starts from a value. Returns the name of its result."""
        for statement in block:
            if isinstance(statement, Plain):
                value = self._plain(statement, value)
            elif isinstance(statement, Choice):
                value = self._choice(statement, value)
            else:
                value = self._repeat(statement, value)
        return value

    def _plain(self, statement: Plain, value: str) -> str:
        second = ", x" if statement.op in ("MatMul", "Add") else ""
        (name,) = self.add(f"{statement.op}({value}{second})")
        return name

    def _body(self, write: Callable[[], str]) -> tuple[str, str]:
        """What a body writes, and the name of its result."""
        before, self.lines = self.lines, []
        result = write()
        lines, self.lines = self.lines, before
        return " ".join(lines), result

    def _choice(self, statement: Choice, value: str) -> str:
        condition = self.given("bool", statement.condition)
        branches = statement.then, statement.otherwise
        if self.flat:
            return self.block(branches[not statement.condition], value)
        (then, a), (otherwise, b) = (
            self._body(partial(self.block, block, value)) for block in branches
        )
        (name,) = self.add(
            f"If ({condition}) <then_branch = {self.new('g')} () => ({a}) {{ {then} }},"
            f" else_branch = {self.new('g')} () => ({b}) {{ {otherwise} }}>"
        )
        return name

    def _repeat(self, statement: Repeat, value: str) -> str:
        steps = {"count": statement.times, "condition": statement.times + 1, "scan": PARTS}
        write = self._written_out if self.flat else self._looped
        last, joined = write(statement, steps[statement.kind], value)
        self.joined.append(joined)
        (total,) = self.add(f"ReduceSum<keepdims = 0>({joined}, {self.ints(0)})")
        (name,) = self.add(f"Add({last}, {total})")
        return name

    def _step(self, statement: Repeat, value: str, part: str) -> tuple[str, str]:
        """Writes a step. Returns the names of what it hands on and of what it adds."""
        if part:
            (value,) = self.add(f"Sub({value}, {part})")
        last = self.block(statement.body, value)
        (added,) = self.add(f"Abs({last})")
        return last, added

    def _written_out(self, statement: Repeat, steps: int, value: str) -> tuple[str, str]:
        backwards = statement.times % 2
        parts = [""] * steps
        if statement.kind == "scan":
            cut = self.add(f"Split<axis = 0>(parts, {self.ints(*[1] * PARTS)})", PARTS)
            parts = [self.add(f"Squeeze({each}, {self.ints(0)})")[0] for each in cut]
            parts = parts[::-1] if backwards else parts
        added = []
        for part in parts:
            value, more = self._step(statement, value, part)
            added.append(more)
        if not added:
            return value, self.add(f"ConstantOfShape({self.ints(0, 3, 3)})")[0]
        if statement.kind == "scan" and backwards:
            added.reverse()
        raised = [self.add(f"Unsqueeze({each}, {self.ints(0)})")[0] for each in added]
        (joined,) = self.add(f"Concat<axis = 0>({', '.join(raised)})")
        return value, joined

    def _looped(self, statement: Repeat, steps: int, value: str) -> tuple[str, str]:
        state, part, index, going, on = (self.new(each) for each in ("s", "p", "i", "go", "on"))
        scan = statement.kind == "scan"
        added: list[str] = []

        def write() -> str:
            last, more = self._step(statement, state, part if scan else "")
            added.append(more)
            return last

        body, last = self._body(write)
        body_of = f"body = {self.new('g')}"
        if scan:
            turned = f"[{statement.times % 2}]"
            last, joined = self.add(
                f"Scan ({value}, parts) <num_scan_inputs = 1, scan_input_directions = {turned},"
                f" scan_output_directions = {turned}, {body_of} (float[3,3] {state},"
                f" float[3,3] {part}) => (float[3,3] {last}, float[3,3] {added[0]}) {{ {body} }}>",
                2,
            )
            return last, joined
        limit = self.given("int64", statement.times)
        self.constants["yes"] = "bool yes = {1}"
        counted = statement.kind == "count"
        condition = f"{on} = Identity({going})" if counted else f"{on} = Less({index}, {limit})"
        last, joined = self.add(
            f"Loop ({limit if counted else ''}, yes, {value}) <{body_of} (int64 {index},"
            f" bool {going}, float[3,3] {state}) => (bool {on}, float[3,3] {last},"
            f" float[3,3] {added[0]}) {{ {condition} {body} }}>",
            2,
        )
        return last, joined
