"""Reads programs in short form: meshes, and functions with their placed arguments.

    program = read(text)
    program.mesh                  {"dp": 2, "tp": 3}, major first
    program.functions["model"].arguments[0].dims      (("b", ("dp",)), ("s", ()))

Bodies are kept as statements, whose operands and results can be asked for.
"""

import dataclasses
import re


class ProgramError(ValueError):
    """A program that is not in the short form that `read` takes."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A type: `dims` has (index, axes major first) for each dimension, or is None if unplaced."""

    element: str
    dims: tuple
    pending: tuple = ()
    placed: bool = True

    def indices(self):
        return tuple(index for index, _ in self.dims)

    def places(self):
        """Returns the dimension that each axis divides, by the axis."""
        return {axis: dim for dim, (_, axes) in enumerate(self.dims) for axis in axes}


@dataclasses.dataclass(frozen=True)
class Argument:
    value: str
    name: str
    type: Tensor
    is_parameter: bool
    attributes: str = ""


@dataclasses.dataclass(frozen=True)
class Statement:
    """`%results = operation %operands ... -> types`, with the line that it begins in."""

    results: tuple
    operation: str
    operands: tuple
    types: tuple
    text: str
    line: int


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of a statement: `names` is the pattern of its parameters' names, or None."""

    function: str
    operands: tuple
    names: str

    def full_name(self, name):
        return self.names.replace("*", name) if self.names is not None else name


@dataclasses.dataclass
class Function:
    name: str
    arguments: list
    results: list
    result_names: list
    statements: list
    is_private: bool


@dataclasses.dataclass
class Program:
    element: str
    extents: dict
    mesh: dict
    roles: dict
    functions: dict

    def main(self):
        """Returns the function that no other calls: the last public one."""
        public = [function for function in self.functions.values() if not function.is_private]
        if not public:
            raise ProgramError("the program has no function that is not private")
        return public[-1]

    def shape(self, tensor):
        return tuple(self.extents[index] for index in tensor.indices())

    def arguments(self, function=None):
        """Returns a function's arguments and those that calls with names (`as`) leave out, under their full names."""
        function = function or self.main()
        found = list(function.arguments)
        for statement in function.statements:
            for call in calls_of(statement):
                callee = self.functions[call.function]
                for argument in self.arguments(callee)[len(call.operands):]:
                    found.append(dataclasses.replace(argument, name=call.full_name(argument.name)))
        return found


def calls_of(statement):
    """Returns the calls of a statement `call @f(...)` or `repeat 12 @f(...)`, in order; none for other statements."""
    if statement.operation not in ("call", "repeat"):
        return []
    taken = re.match(r'(?:call|repeat\s+(\d+))\s*@([\w.]+)\s*\([^)]*\)\s*(?:as\s*"([^"]*)")?\s*(?:from\s+(\d+))?', statement.text)
    if not taken:
        raise ProgramError(f"line {statement.line}: a call is not understood: {statement.text}")
    count, first = int(taken[1] or 1), int(taken[4] or 0)
    names = [taken[3] and taken[3].replace("#", str(first + i)) for i in range(count)]
    return [Call(taken[2], statement.operands, each) for each in names]


def read(text):
    """Returns the Program of `text`. Raises ProgramError with the line if it is not in short form."""
    text = re.sub(r"//[^\n]*", "", text)
    head = re.search(r"tpsp\.program\s*(\w+)?\s*<([^>]*)>(?:\s*attributes\s*\{[^}]*\})?\s*\{", text)
    if not head:
        raise ProgramError("line 1: no 'tpsp.program <...> {' is found; programs in long form are not read: "
                           "write the short form, as tpsp-import and tpsp-plan -o do")
    extents = {}
    for each in _split(head[2]):
        index, value = (part.strip() for part in each.split("="))
        extents[index] = extents[value] if value in extents else int(value)
    mesh, roles = _mesh(text)
    functions = {}
    for each in re.finditer(r"\bfunc(\s+private)?\s+@([\w.]+)\s*\(", text):
        function = _function(text, each, head[1] or "f32")
        functions[function.name] = function
    return Program(head[1] or "f32", extents, mesh, roles, functions)


def _mesh(text):
    found = re.search(r"\bmesh\s+@\w+\s*<([^>]*)>", text)
    mesh, roles = {}, {}
    for each in _split(found[1]) if found else []:
        name, size, *role = re.split(r"\s*[=:]\s*", each.strip())
        mesh[name] = int(size)
        roles[name] = role[0] if role else ""
    return mesh, roles


def _function(text, header, element):
    inside, at = _bracketed(text, header.end() - 1)
    arguments = _arguments(inside, element)
    arrow = re.compile(r"\s*->\s*").match(text, at)
    types, names = [], []
    if arrow:
        at = arrow.end()
        if text[at] == "(":
            inside, at = _bracketed(text, at)
        else:
            end = text.index("{", text.index("]", at)) if "]" in text[at:] else len(text)
            inside, at = text[at:end], end
        for each in _split(inside):
            types.append(_type(each, element))
            named = re.search(r'tpsp\.name\s*=\s*"([^"]*)"', each)
            names.append(named[1] if named else None)
    opening = text.index("{", at)
    body, _ = _bracketed(text, opening)
    line = text.count("\n", 0, opening) + 1
    return Function(header[2], arguments, types, names, list(_statements(body, line, element)), bool(header[1]))


def _arguments(text, element):
    found, waiting, is_parameter = [], [], False
    for each in _split(text):
        taken = re.match(r'\s*(param\s+)?%([\w$.-]+)\s*(?:"([^"]*)")?\s*(?::(.*))?$', each, re.S)
        if not taken:
            raise ProgramError(f"an argument is not understood: {each.strip()}")
        is_parameter = bool(taken[1]) or (is_parameter and bool(waiting))
        waiting.append((taken[2], taken[3] or taken[2]))
        if taken[4] is not None:
            kind = _type(taken[4], element)
            _, brace, attributes = taken[4].partition("{")
            found += [Argument(value, name, kind, is_parameter, brace + attributes) for value, name in waiting]
            waiting = []
    return found


def _type(text, element):
    taken = re.match(r"\s*(\w+)?\s*\[([^\]]*)\]", text)
    if not taken:
        raise ProgramError(f"a type is not understood: {text.strip()}; types in long form are not read")
    dims, _, pending = taken[2].partition("|")
    parts = [part.strip() for part in _split(dims)]
    placed = "?" not in parts
    dims = tuple((index, tuple(axes)) for index, *axes in (part.split("@") for part in parts if part != "?"))
    return Tensor(taken[1] or element, dims, tuple(re.findall(r"@(\w+)", pending)), placed)


def _statements(body, line, element):
    """Yields the statements of a body: lines, which go on where brackets are open or a line ends in a comma."""
    collected, begin = "", line
    for number, each in enumerate(body.split("\n")):
        collected += (" " if collected else "") + each.strip()
        if collected and not _is_open(collected) and not collected.endswith((",", "->", "=")):
            yield _statement(collected, begin, element)
            collected = ""
        if not collected:
            begin = line + number + 1


def _statement(text, line, element):
    left, _, right = text.rpartition(" = ") if re.match(r"%[\w$.-]+(\s*,\s*%[\w$.-]+)*\s*=", text) else ("", "", text)
    if left:
        left, right = re.match(r"((?:%[\w$.-]+\s*,?\s*)+)=\s*(.*)$", text, re.S).groups()
    operation = right.split(None, 1)[0]
    outside = re.sub(r"\{[^{}]*\}", "", right)
    before, arrow, after = outside.partition("->")
    types = tuple(_type(each, element) for each in _split(after)) if arrow else ()
    return Statement(tuple(re.findall(r"%([\w$.-]+)", left)), operation, tuple(re.findall(r"%([\w$.-]+)", before)), types, right, line)


def _is_open(text):
    return any(text.count(a) > text.count(b) for a, b in ("()", "[]", "{}"))


def _split(text):
    """Splits at commas outside of brackets; drops empty parts."""
    parts, depth, current, quoted = [], 0, "", False
    for character in text:
        quoted ^= character == '"'
        if not quoted:
            depth += character in "([{<"
            depth -= character in ")]}"
        if character == "," and depth <= 0 and not quoted:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part for part in parts + [current] if part.strip()]


def _bracketed(text, at):
    """Returns what is between the bracket at `at` and its partner, and the position after that."""
    opening = text[at]
    closing = {"(": ")", "{": "}"}[opening]
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == opening) - (text[end] == closing)
        if depth == 0:
            return text[at + 1 : end], end + 1
    raise ProgramError(f"line {text.count(chr(10), 0, at) + 1}: '{opening}' is not closed")
