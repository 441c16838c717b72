"""How the results of a program follow from those of ranks that have a part of the batch each.

    results(program, ("dp",), takes)     [Value(how=PART), Value(how=MEAN, weight=Weight(...))]

A rank runs the module on its own samples. Its result is then a part of the program's
result, or a term of a mean or a sum over the ranks, or none of these. This is read off
the program's operations, one by one. An operation that is not known to keep such a form
makes its result REFUSED, with the reason.
"""

import dataclasses
import re

from .program import calls_of

# The value without a batch: the same on all ranks.
WHOLE = "whole"
# The value of this rank's samples.
PART = "part"
# The program's value is the mean, or the sum, of the ranks' values.
MEAN, SUM = "mean", "sum"
# The module does not compute it: it depends on an input that `forward` lacks.
ABSENT = "absent"
REFUSED = "refused"

# Operations of one operand that commute with sums of it.
_LINEAR = {"scale", "neg", "convert", "stop_gradient", "accumulate", "broadcast", "cut", "take", "rename", "split", "merge"}
# Operations whose result can be computed from an input alone, by `count`.
_VIEWS = {"cut", "take", "rename", "split", "merge", "convert", "stop_gradient"}


@dataclasses.dataclass(frozen=True)
class Source:
    """A view of an input: steps are (statement, indices before, indices after)."""

    input: str
    steps: tuple = ()


@dataclasses.dataclass(frozen=True)
class Weight:
    """What a rank's mean counts in the mean of all.

    It is the number of labels in `source` that are not negative if `labels`, else the sum of
    `source`, and at least `low`, if given.
    """

    source: Source
    labels: bool
    low: float = None


@dataclasses.dataclass(frozen=True)
class Value:
    """`batch` is the index of the samples if PART, `weight` that of a MEAN, or None if ranks count alike.

    `source` is set if the value is a view of an input, and `total` if it is the sum of one.
    `reason` is that of REFUSED. `is_outside` says that the operation has the value of the whole
    batch if it is computed outside of the module, because its operands are means and sums.
    """

    how: str
    indices: tuple = ()
    batch: str = None
    weight: Weight = None
    source: Source = None
    total: Weight = None
    reason: str = ""
    is_outside: bool = False

    def is_reduced(self):
        return self.how in (MEAN, SUM)


def results(program, data, takes):
    """Returns a Value for each result of the main function that is not the new value of a buffer.

    data: the axes that divide the batch. takes: a function that says whether the module takes
    an input of this name.
    """
    return _Analysis(program, data, takes).run()


class _Analysis:
    def __init__(self, program, data, takes):
        self.program, self.takes = program, takes
        self.main = program.main()
        self.divided = {argument.name for argument in self.main.arguments
                        if not argument.is_parameter and argument.type.dims and set(argument.type.dims[0][1]) & set(data)}
        self.batches = {argument.type.dims[0][0] for argument in self.main.arguments if argument.name in self.divided}
        # The batch that a merged index has, by the index.
        self.merged = {}

    def run(self):
        return self._function(self.main, [self._argument(argument) for argument in self.main.arguments])

    def _argument(self, argument):
        indices = argument.type.indices()
        batch = next((index for index in indices if index in self.batches), None)
        if batch is None:
            return Value(WHOLE, indices)
        if argument.name.startswith("constant."):
            return Value(REFUSED, indices, reason=f"its constant '{argument.name}' has a number for each sample of the whole batch, and a rank would "
                                                  "make it for its own samples alone")
        if not argument.is_parameter and argument.name in self.divided and not self.takes(argument.name):
            return Value(ABSENT, indices)
        return Value(PART, indices, batch, source=None if argument.is_parameter else Source(argument.name))

    def _function(self, function, arguments):
        values = {argument.value: value for argument, value in zip(function.arguments, arguments)}
        for statement in function.statements:
            operands = [values[name] for name in statement.operands if name in values]
            if statement.operation == "return":
                kept = (function is not self.main or not name.startswith("new_") for name in statement.operands)
                return [value for value, keep in zip(operands, kept) if keep]
            called = statement.operation in ("call", "repeat")
            found = self._call(statement, operands) if called else self._statement(statement, operands)
            values.update(zip(statement.results, found))
        return []

    def _call(self, statement, operands):
        """The results of calls, each of which takes those of the call before in place of its first operands."""
        found = []
        for call in calls_of(statement):
            callee = self.program.functions[call.function]
            given = [*found, *operands[len(found):]]
            arguments = [self._under(value, argument.type.indices()) for value, argument in zip(given, callee.arguments)]
            arguments += [self._argument(argument) for argument in callee.arguments[len(arguments):]]
            before, found = found, self._function(callee, arguments)
            if found == before:
                break
        return found

    def _under(self, value, indices):
        """The value with the names of indices that a function gives them."""
        batch = indices[value.indices.index(value.batch)] if value.batch else None
        if batch:
            self._rename_batch(value.batch, batch)
        return dataclasses.replace(value, indices=indices, batch=batch)

    def _statement(self, statement, operands):
        types = [kind.indices() for kind in statement.types]
        if not types:
            # Without a type the result has that of an operand which has all indices.
            types = [max((value.indices for value in operands), key=len, default=())] * len(statement.results)
        return [self._value(statement, operands, indices) for indices in types]

    def _value(self, statement, operands, indices):
        if statement.operation == "div" and operands[0].how == SUM and operands[1].total:
            return Value(MEAN, indices, weight=operands[1].total)
        for how in (ABSENT, REFUSED):
            for value in operands:
                if value.how == how:
                    return dataclasses.replace(value, indices=indices, total=None)
        quoted = set(re.findall(r'"([^"]*)"', statement.text)) & self.batches
        if quoted:
            return _refused(statement, indices, f"depends on the position of samples along '{quoted.pop()}', or joins them")
        if any(value.is_reduced() for value in operands):
            return self._of_reduced(statement, operands, indices)
        if len({value.batch for value in operands if value.how == PART}) > 1:
            return _refused(statement, indices, "joins samples with other samples of the batch")
        part = next((value for value in operands if value.how == PART), None)
        if part and statement.operation in ("rename", "merge", "split"):
            return self._reshaped(statement, part, indices)
        found = [index for index in indices if index in self.batches]
        if part is None:
            return Value(PART, indices, found[0]) if found else Value(WHOLE, indices)
        if found and found != [part.batch]:
            return _refused(statement, indices, "joins samples with other samples of the batch")
        if found:
            return Value(PART, indices, part.batch, source=_seen(statement, operands, indices))
        return self._reduced(statement, operands, indices)

    def _reshaped(self, statement, value, indices):
        batch = value.batch
        new = [index for index in indices if index not in value.indices]
        if statement.operation == "rename":
            batch = indices[value.indices.index(batch)]
            self._rename_batch(value.batch, batch)
        elif batch not in indices and statement.operation == "merge":
            batch, = new
            self.merged[batch] = value.batch
            self.batches.add(batch)
        elif batch not in indices:
            batch = self.merged.get(batch)
            if batch not in new:
                return _refused(statement, indices, "divides the batch into parts")
        return Value(PART, indices, batch, source=_seen(statement, [value], indices))

    def _rename_batch(self, old, new):
        self.batches.add(new)
        if old in self.merged:
            self.merged[new] = self.merged[old]

    def _reduced(self, statement, operands, indices):
        """The result of an operation that removes the batch."""
        if statement.operation == "einsum" or _is_sum(statement):
            return Value(SUM, indices, total=_total(statement, operands, indices))
        if statement.operation != "mean":
            return _refused(statement, indices, "is neither a mean nor a sum over the batch")
        labels = next(iter(operands[1:]), None)
        if labels is None or labels.how == WHOLE:
            return Value(MEAN, indices)
        if labels.source is None or indices:
            return _refused(statement, indices, "is a mean over labels that are computed" if labels.source is None else
                            "is several means over labels")
        return Value(MEAN, indices, weight=Weight(labels.source, labels=True))

    def _of_reduced(self, statement, operands, indices):
        """The result of an operation with an operand that is a mean or a sum over the batch."""
        operation, first = statement.operation, operands[0]
        reduced = [value for value in operands if value.is_reduced()]
        if any(value.how == PART for value in operands) or set(indices) & self.batches:
            return _refused(statement, indices, "gives a mean or a sum over the batch to each sample")
        if operation in ("add", "sub", "stack", "concat"):
            return self._joined(statement, operands, indices)
        if operation == "shift" and first.how == MEAN:
            return dataclasses.replace(first, indices=indices)
        if operation == "clamp" and first.total and _attribute(statement, "high") is None:
            total = dataclasses.replace(first.total, low=float(_attribute(statement, "low")))
            return dataclasses.replace(_refused(statement, indices, "is not linear in a sum over the batch", is_outside=True), total=total)
        if operation == "div" and operands[1].is_reduced():
            return _refused(statement, indices, "divides by a mean or a sum over the batch that is not the sum of an input", is_outside=True)
        is_linear = operation in _LINEAR or operation in ("mul", "div", "einsum", "mean") or _is_sum(statement)
        if len(reduced) > 1 or not is_linear:
            return _refused(statement, indices, "is not linear in means and sums over the batch", is_outside=True)
        total = first.total if operation in ("convert", "stop_gradient") else None
        return Value(reduced[0].how, indices, weight=reduced[0].weight, total=total)

    def _joined(self, statement, operands, indices):
        """A sum of means, or of sums. What all ranks have is a mean, of any weights."""
        kinds = {(value.how, value.weight) for value in operands if value.is_reduced()}
        (how, weight), *others = sorted(kinds, key=str)
        if others:
            return _refused(statement, indices, "joins means and sums over the batch whose ranks have different weights", is_outside=True)
        if how == SUM and any(value.how == WHOLE for value in operands):
            return _refused(statement, indices, "adds a number of all ranks to a sum over the batch", is_outside=True)
        return Value(how, indices, weight=weight)


def _refused(statement, indices, why, is_outside=False):
    return Value(REFUSED, indices, reason=f"line {statement.line}, '%{statement.results[0]} = {statement.text}', {why}", is_outside=is_outside)


def _attribute(statement, name):
    taken = re.search(rf'\b{name}\s*=\s*("[^"]*"|[-+.\w]+)', statement.text)
    return taken and taken[1].strip('"')


def _is_sum(statement):
    return statement.operation == "reduce" and _attribute(statement, "kind") == "sum"


def _seen(statement, operands, indices):
    """The result as a view of an input, or None."""
    source = operands[0].source if operands else None
    is_transpose = statement.operation == "einsum" and len(operands) == 1 and sorted(indices) == sorted(operands[0].indices)
    if source is None or not (is_transpose or statement.operation in _VIEWS):
        return None
    return Source(source.input, (*source.steps, (statement, operands[0].indices, indices)))


def _total(statement, operands, indices):
    """The weight of a rank whose result is the sum of all elements of a view of an input, or None."""
    source = operands[0].source
    return Weight(source, labels=False) if source and len(operands) == 1 and not indices else None


def count(weight, tensor, extents):
    """Returns a rank's count as a number in f32, from its part of the input.

    extents: those of the program, by index. Raises ValueError if a cut does not fit the tensor.
    """
    for statement, before, after in weight.source.steps:
        tensor = _view(statement, tensor, before, after, extents)
    return (tensor >= 0).sum().float() if weight.labels else tensor.float().sum()


def _view(statement, tensor, before, after, extents):
    operation = statement.operation
    if operation in ("cut", "take"):
        index = _attribute(statement, "index")
        dim = before.index(index)
        if tensor.shape[dim] != extents[index]:
            raise ValueError(f"dimension {dim} has {tensor.shape[dim]} elements, and {extents[index]} in the plan, which cuts it: "
                             f"{statement.text}; pad it, or export with this extent")
        if operation == "take":
            return tensor.select(dim, int(_attribute(statement, "at")))
        return tensor.narrow(dim, int(_attribute(statement, "from")), extents[after[dim]])
    if operation == "einsum":
        return tensor.permute([before.index(index) for index in after])
    if operation == "merge":
        at = next(dim for dim, index in enumerate(before) if index not in after)
        return tensor.flatten(at, at + len(before) - len(after))
    if operation == "split":
        at = next(dim for dim, index in enumerate(before) if index not in after)
        parts = [extents[index] for index in after[at : at + len(after) - len(before) + 1]]
        # A batch is the major part, and is this rank's.
        return tensor.unflatten(at, [-1, *parts[1:]])
    return tensor
