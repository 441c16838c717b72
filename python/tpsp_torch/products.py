"""Products of a program with parameters that axes divide."""

import collections

# Operations whose result is the parameter in another form.
_VIEWS = ("split", "rename", "merge", "cut", "take")


def gathered_once(function, axes):
    """Returns names of gains of norms whose result only goes to products that need it whole, so that it is gathered once, where it is made."""
    own = {argument.value: argument for argument in function.arguments if argument.is_parameter}
    divided, users, found = _divided(function, axes), _users(function), []
    for statement in function.statements:
        if not statement.operation.endswith("norm") or not statement.results:
            continue
        gains = [value for value in statement.operands if value in own and len(own[value].type.dims) == 1]
        takers = users.get(statement.results[0])
        if gains and takers and all(each.operation == "einsum" and any(value in divided for value in each.operands) for each in takers):
            found.append(own[gains[0]].name)
    return found


def whole_operands(function, axes):
    """Returns how many products take each value whole, by the value: those with a parameter that axes divide along an index of the result."""
    divided, found = _divided(function, axes), collections.Counter()
    for statement in function.statements:
        if statement.operation != "einsum" or len(statement.operands) != 2 or not statement.types:
            continue
        for value, other in (statement.operands, statement.operands[::-1]):
            if divided.get(value, set()) & set(statement.types[0].indices()):
                found[other] += 1
    return found


def _divided(function, axes):
    """Returns the indices that axes divide, of each value that is a parameter or a view of one."""
    indices_of, found = _indices(function), {}
    for argument in function.arguments:
        indices = {index for index, its in argument.type.dims if set(its) & set(axes)}
        if argument.is_parameter and indices:
            found[argument.value] = indices
    for statement in function.statements:
        if statement.operation in _VIEWS and statement.operands[0] in found:
            kept = found[statement.operands[0]]
            for result, kind in zip(statement.results, statement.types):
                # The first of the new indices has the axes of the old one.
                new = [index for index in kind.indices() if index not in indices_of.get(statement.operands[0], ())]
                found[result] = {index for index in kind.indices() if index in kept} or set(new[:1])
    return found


def _indices(function):
    """Returns the indices of each value."""
    found = {}
    for statement in function.statements:
        for result, kind in zip(statement.results, statement.types):
            found.setdefault(result, kind.indices())
    found.update((argument.value, argument.type.indices()) for argument in function.arguments)
    return found


def _users(function):
    """Returns the statements that take each value, by the value."""
    found = collections.defaultdict(list)
    for statement in function.statements:
        for value in dict.fromkeys(statement.operands):
            found[value].append(statement)
    return found
