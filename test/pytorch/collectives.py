"""Compares the collectives that torch issues for a plan with those of tpsp's ledger.

    tpsp-run plan.mlir --report plan.ledger ...        with ledger_options()
    compare(ledger("plan.ledger"), Plan(text), issued(mesh, step))

A reason says what torch issues in place of some rows of the ledger. Torch must issue
these and the other rows, as many for each phase, kind and axis. So a difference without
a reason is an error, and so is a reason with a wrong count.
"""

import collections
import dataclasses
import json
import re

import torch.distributed as dist
from tpsp_torch.products import gathered_once, whole_operands
from tpsp_torch.program import calls_of, read
from tpsp_torch.trace import Trace

KINDS = {"_all_gather_base": "all_gather", "_reduce_scatter_base": "reduce_scatter"}


@dataclasses.dataclass(frozen=True)
class Key:
    """What is counted. `axes` are the mesh's, joined by commas."""

    phase: str
    kind: str
    axes: str


@dataclasses.dataclass(frozen=True)
class Row:
    """A collective of the ledger: the tensor that it moves, and why."""

    key: Key
    tensor: str
    reason: str

    def is_gradient(self):
        return self.tensor.startswith("g[")

    def name(self):
        return self.tensor[2:-1] if self.is_gradient() else self.tensor

    def layer(self):
        """The number of its layer, or None."""
        found = re.search(r"(?:^|\.)(?:layer|layers\.|h\.|layer\.)(\d+)\.", self.name())
        return found and int(found[1])


class Plan:
    """What reasons ask of a plan."""

    def __init__(self, text):
        self.program = read(text)
        self.main = self.program.main()
        self.parameters = {each.name: each.type for each in self.program.arguments() if each.is_parameter}
        self.data = {axis for each in self.main.arguments if not each.is_parameter and each.type.dims for axis in each.type.dims[0][1]}
        self.model = [axis for axis, size in self.program.mesh.items() if size > 1 and axis not in self.data]
        self.calls = [(call, self.program.functions[call.function]) for each in self.main.statements for call in calls_of(each)]
        self.functions = [*(function for _, function in self.calls), self.main]

    def of_data(self, row):
        return set(row.key.axes.split(",")) <= self.data

    def of_model(self, row):
        return set(row.key.axes.split(",")) <= set(self.model)

    def is_input(self, name):
        return any(each.name == name for each in self.main.arguments if not each.is_parameter)

    def is_gathered_norm(self, row):
        """Whether the tensor is a norm's result that apply gathers."""
        function = self.main if row.layer() is None else self.calls[row.layer()][1]
        gains = {each.value for each in function.arguments if each.name in gathered_once(function, self.model)}
        return any(row.name().split(".")[-1] in each.results and gains & set(each.operands) for each in function.statements)

    def products(self):
        """How many products need an operand whole that apply does not gather."""
        count = 0
        for function in self.functions:
            own = {each.value for each in function.arguments if each.name in gathered_once(function, self.model)}
            gathered = {result for each in function.statements if own & set(each.operands) for result in each.results}
            count += sum(times for value, times in whole_operands(function, self.model).items() if value not in gathered)
        return count

    def is_pending(self, row):
        """Whether it ends a sum along an axis of the model that norms were computed with."""
        axes = set(row.key.axes.split(","))
        if not axes & set(self.model):
            return False
        return row.reason.startswith("this reduce") or (bool(axes & self.data) and "the operands' sums" in row.reason)

    def is_added_to_sum(self, name):
        """Whether it is the bias of a product that sums over a divided index: its weight is divided, and it is not."""
        weight = self.parameters.get(re.sub(r"bias$", "weight", name))
        return name.endswith("bias") and weight is not None and self._model_axes(weight) and not self._model_axes(self.parameters[name])

    def is_fused(self, name):
        """Whether it makes queries, keys and values at once."""
        return "c_attn" in name

    def _model_axes(self, kind):
        return {axis for _, axes in kind.dims for axis in axes} & set(self.model)


@dataclasses.dataclass(frozen=True)
class Reason:
    """`takes(row, plan)` chooses rows, and `gives(rows, plan)` counts what torch issues in their place."""

    text: str
    takes: object
    gives: object


def issued(mesh, step):
    """Runs `step`, and counts the collectives that this rank issued."""
    groups = {tuple(dist.get_process_group_ranks(mesh.get_group(axis))): axis for axis in mesh.mesh_dim_names}
    with Trace() as trace:
        step()
    found = collections.Counter()
    for entry in trace.entries:
        kind = entry["profiling_name"].split(":")[1]
        found[Key(entry["phase"], KINDS.get(kind, kind), groups[tuple(entry["ranks"])])] += 1
    return found


def ledger_options(keeps_gathered):
    """Options of tpsp-run for the ledger of a step of torch: no buckets, and no gradients of inputs."""
    return ["--grad", "--input-gradients", "off", "--bucket-mib", "0", "--simulate", "--quiet", *(["--keep-gathered"] if keeps_gathered else [])]


def ledger(report):
    """Returns the rows of a report of tpsp-run, a file."""
    return [Row(Key(each["phase"], each["kind"], ",".join(each["axes"])), each["tensor"], each["reason"])
            for each in json.loads(report.read_text())["collectives"]]


def of_units(rows, plan):
    return collections.Counter(key for key, _ in {(row.key, row.layer()) for row in rows})


def of_layers(rows, plan):
    return collections.Counter({row.key: len({row.layer() for row in rows}) for row in rows})


def of_logits(rows, plan):
    return collections.Counter({Key("forward", "all_gather", row.key.axes) for row in rows})


def of_products(rows, plan):
    return collections.Counter({key: plan.products() for key in {row.key for row in rows}})


def by_axis(rows, plan, axes=lambda axis, plan: True):
    return collections.Counter(dataclasses.replace(row.key, axes=axis) for row in rows for axis in row.key.axes.split(",") if axes(axis, plan))


def of_data_axes(rows, plan):
    return by_axis(rows, plan, lambda axis, plan: axis in plan.data)


def of_norms(rows, plan):
    """An all-reduce of activations' gradients before each norm, and those of parameters along the axes of data."""
    found = of_data_axes(rows, plan)
    norms = {row.name().rpartition(".")[0] for row in rows if "norm" in row.name()}
    found[Key("backward", "all_reduce", ",".join(plan.model))] = len(norms)
    return found


def of_tables(rows, plan):
    """The gathered gradient may be that of another table, too. It is not if only positions are padded."""
    found = collections.Counter(dataclasses.replace(row.key, kind="all_reduce") for row in rows)
    found.update(row.key for row in rows if not row.reason.startswith("this pad"))
    return found


def of_attention(rows, plan):
    """Queries, keys and values; backward these again, the result and its gradient."""
    layers, axes = len({row.layer() for row in rows}), rows[0].key.axes
    return collections.Counter({Key("forward", "all_gather", axes): 3 * layers, Key("backward", "all_gather", axes): 5 * layers})


def nothing(rows, plan):
    return collections.Counter()


def is_of_parameter(row, plan):
    return row.is_gradient() and row.name() in plan.parameters and row.key.kind == "all_reduce"


# The first reason that takes a row counts.
REASONS = {
    "unit": Reason(
        "FSDP2 gathers the divided parameters of a layer at once, and reduces their gradients at once. Parameters outside of layers are one more unit.",
        lambda row, plan: plan.of_data(row) and not plan.is_input(row.name()) and
        row.key.kind == ("reduce_scatter" if row.is_gradient() else "all_gather"), of_units),
    "logits": Reason(
        "DTensor gathers the logits for the loss. tpsp reduces three numbers of each position: the largest logit, the sum and the label's logit.",
        lambda row, plan: plan.of_model(row) and row.tensor.startswith("cross_entropy"), of_logits),
    "kept": Reason(
        "Torch keeps a norm's gathered result for the backward pass. tpsp gathers it again, which `--keep-gathered` avoids.",
        lambda row, plan: plan.of_model(row) and row.key.phase == "backward" and not row.is_gradient() and plan.is_gathered_norm(row), nothing),
    "heads": Reason(
        "`c_attn` is whole. Torch computes attention of all heads on every rank, and gathers the gradient of its result. tpsp divides the heads, and "
        "gathers the gradients of queries, keys and values.",
        lambda row, plan: plan.of_model(row) and row.key.kind == "all_gather" and row.is_gradient() and ".attn" in row.name(), of_layers),
    "attention": Reason(
        "`c_attn` is whole, so queries, keys and values are divided along the sequence. Torch gathers each. Its backward pass "
        "gathers them again, and the result and its gradient. tpsp exchanges the sequence for heads.",
        lambda row, plan: plan.of_model(row) and re.search(r"\.attn_\d", row.name()), of_attention),
    "table": Reason(
        "Torch sums the gradient of a table of positions along the axis. tpsp computes it from a gathered gradient.",
        lambda row, plan: row.key.kind == "all_gather" and "done alike" in row.reason, of_tables),
    "operand": Reason(
        "In DTensor each product gathers its operand, in both passes, and reduces the operand's gradient. tpsp does so once for all products of an "
        "operand.",
        lambda row, plan: plan.of_model(row) and row.key.kind == ("reduce_scatter" if row.is_gradient() else "all_gather") and
        not plan.is_gathered_norm(row), of_products),
    "embedding": Reason(
        "tpsp divides the sum of embeddings as their tables are, and exchanges features for samples. FSDP2 gathers the tables.",
        lambda row, plan: plan.of_data(row) and (row.key.kind == "all_to_all" or plan.is_input(row.name())), nothing),
    "pending": Reason(
        "tpsp computes norms' gradients from a pending sum, so gradients of their parameters are summed along the axis, too. "
        "`apply` completes the sum first.",
        lambda row, plan: row.key.kind == "all_reduce" and row.key.phase == "backward" and plan.is_pending(row), of_norms),
    "bias": Reason(
        "The gradient of a bias is whole along the axis, because torch has gathered the gradient of the sum that the bias is added to. tpsp adds up "
        "parts along the sequence.",
        lambda row, plan: is_of_parameter(row, plan) and (plan.is_added_to_sum(row.name()) or plan.is_fused(row.name())), of_data_axes),
    "axis": Reason(
        "Torch sums gradients of whole parameters along one axis after the other. tpsp has one sum along both.",
        is_of_parameter, by_axis),
}


def predicted(rows, plan):
    """Returns what torch should issue, and what each reason adds and removes: counts by Key."""
    taken, left = collections.defaultdict(list), []
    for row in rows:
        name = next((name for name, reason in REASONS.items() if reason.takes(row, plan)), None)
        (left if name is None else taken[name]).append(row)
    total, changes = collections.Counter(row.key for row in left), {}
    for name, own in taken.items():
        given = REASONS[name].gives(own, plan)
        total.update(given)
        changes[name] = collections.Counter(given)
        changes[name].subtract(row.key for row in own)
    return total, changes


def compare(rows, plan, found):
    """Returns rows of a table: (key, tpsp's count, torch's, reasons). Raises AssertionError if reasons do not give a difference exactly."""
    wanted, changes = predicted(rows, plan)
    own, lines = collections.Counter(row.key for row in rows), []
    for key in sorted(own.keys() | found.keys() | wanted.keys(), key=lambda key: (key.phase != "forward", key.kind, key.axes)):
        given = {name: change[key] for name, change in changes.items() if change[key]}
        said = ", ".join(f"{name} {amount:+}" for name, amount in given.items())
        if found[key] != wanted[key]:
            raise AssertionError(f"{key.phase} {key.kind} over {key.axes}: torch issues {found[key]}, and tpsp's ledger has {own[key]}; "
                                 + (f"reasons ({said}) give {wanted[key]}" if said else "no reason is known"))
        if own[key] or found[key]:
            lines.append((key, own[key], found[key], given))
    return lines


def cells(line):
    """Returns a row of the table as text."""
    key, own, found, given = line
    return [f"{key.phase} {key.kind}", key.axes, str(own), str(found), ", ".join(f"{name} {amount:+}" for name, amount in given.items())]
