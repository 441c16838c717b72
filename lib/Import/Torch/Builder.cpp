#include "Builder.h"
#include "Refusal.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

/// Larger tables are not compared with each other.
static constexpr int64_t mostCompared = 1 << 22;

//===----------------------------------------------------------------------===//
// Arguments and constants
//===----------------------------------------------------------------------===//

Tensor Builder::argument(ProgramArgument::Kind kind, const std::string &stored,
                         ScalarType type, const Sizes &sizes, bool isFrozen,
                         ConstantPtr constant) {
  Tensor tensor;
  tensor.type = type;
  for (int64_t size : sizes)
    tensor.dims.push_back(size == 1 ? AtomList{}
                                    : AtomList{program.atoms.create(size)});
  AtomList atoms = atomsOf(tensor.dims);
  program.atoms.keepApart(atoms);
  tensor.value = static_cast<ValueId>(program.values.size());
  program.values.push_back({atoms, torch::elementOf(type)});
  program.arguments.push_back({kind, tensor.value, stored, tensor.dims, type,
                               isFrozen, std::move(constant)});
  return tensor;
}

/// The constant without the dimensions along which all elements are equal.
static ConstantPtr varying(ConstantPtr constant) {
  for (size_t dim = constant->sizes().size(); dim-- > 0;)
    if (!constant->varies(dim))
      constant = constant->selected(dim, 0);
  return constant;
}

static bool areEqual(const Constant &a, const Constant &b) {
  if (a.sizes() != b.sizes() || a.type() != b.type())
    return false;
  if (a.isSameView(b))
    return true;
  bool isEqual = true;
  if (elementsOf(a.sizes()) > mostCompared)
    return false;
  forEachPosition(a.sizes(), [&](const Sizes &position) {
    isEqual = isEqual && a.at(position) == b.at(position);
  });
  return isEqual;
}

/// The argument that a constant is. Equal tables of different layers are one.
Tensor Builder::tableOf(const ConstantPtr &constant, const std::string &stored,
                        ScalarType type) {
  for (const auto &[known, tensor] : tables)
    if (tensor.type == type && tensor.stored == stored &&
        areEqual(*known, *constant))
      return tensor;
  std::string name =
      stored.empty() ? fmt::format("constant.{}", tables.size()) : stored;
  auto kind = type == ScalarType::I32 ? ProgramArgument::Kind::Input
                                      : ProgramArgument::Kind::Parameter;
  Tensor made = argument(kind, name, type, constant->sizes(), true, constant);
  made.stored = stored;
  tables.emplace_back(constant, made);
  return made;
}

Tensor Builder::lifted(const Tensor &tensor, const std::string &wanted) {
  if (!tensor.constant)
    return tensor;
  const ConstantPtr &constant = tensor.constant;
  if (elementsOf(constant->sizes()) == 0)
    refuse("uses a tensor without elements");
  auto [place, isNew] = liftedConstants.try_emplace(constant.get());
  if (!isNew && elementOf(place->second.second) == wanted)
    return place->second.second;
  ConstantPtr small = varying(constant);
  ScalarType type = isFloating(constant->type()) ? constant->type()
                    : wanted == "i32"            ? ScalarType::I32
                                                 : ScalarType::F32;
  Tensor out;
  if (small->sizes().empty() && wanted != "i32") {
    out = number(small->at({}), wanted);
  } else {
    out = tableOf(small, tensor.stored, type);
  }
  // Back in the dimensions of the constant.
  Dims dims;
  size_t next = 0;
  for (size_t i = 0; i < constant->sizes().size(); ++i)
    if (constant->varies(i))
      dims.push_back(out.dims.at(next++));
    else if (constant->sizes()[i] == 1)
      dims.emplace_back();
    else
      dims.push_back({program.atoms.create(constant->sizes()[i])});
  out.dims = std::move(dims);
  out.type = constant->type();
  out = converted(out, wanted);
  place->second = {constant, out};
  return out;
}

Tensor Builder::number(double value, const std::string &wanted) {
  Tensor out;
  out.value = emitValue("constant", {}, {}, wanted, {{"value", value}});
  return out;
}

Tensor Builder::converted(const Tensor &tensor, const std::string &wanted) {
  if (elementOf(tensor) == wanted)
    return tensor;
  if (elementOf(tensor) == "i32" || wanted == "i32")
    refuse("it makes integers of numbers, or numbers of integers, which depend "
           "on an input");
  Tensor out = tensor;
  out.value = emitValue("convert", {tensor.value},
                        program.values[tensor.value].atoms, wanted);
  return out;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

ValueId Builder::emitValue(const std::string &name,
                           const std::vector<ValueId> &operands,
                           const AtomList &atoms, const std::string &type,
                           Attributes attributes, AtomList blocks) {
  program.atoms.keepApart(atoms);
  auto result = static_cast<ValueId>(program.values.size());
  program.values.push_back({program.atoms.leaves(atoms), type});
  program.operations.push_back({name, operands, result, std::move(attributes),
                                std::move(blocks), modules});
  return result;
}

Tensor Builder::emit(const std::string &name,
                     const std::vector<Tensor> &operands, const Dims &dims,
                     ScalarType type, Attributes attributes) {
  AtomList atoms;
  std::vector<ValueId> values;
  for (const Tensor &operand : operands)
    values.push_back(operand.value);
  for (Atom atom : atomsOf(dims))
    if (operands.empty() ||
        std::any_of(operands.begin(), operands.end(),
                    [&](const Tensor &one) { return has(one, atom); }))
      atoms.push_back(atom);
  // The first operand's order, if it has all.
  if (!operands.empty()) {
    AtomList first =
        program.atoms.leaves(program.values[operands.front().value].atoms);
    if (std::is_permutation(first.begin(), first.end(), atoms.begin(),
                            atoms.end()))
      atoms = first;
  }
  Tensor out;
  out.dims = dims;
  out.type = type;
  std::string stored = operands.empty() ? element : elementOf(operands.front());
  out.value = emitValue(name, values, atoms, stored, std::move(attributes));
  return out;
}

Tensor Builder::pointwise(const std::string &name, std::vector<Tensor> operands,
                          ScalarType type, Attributes attributes) {
  Dims dims;
  for (Tensor &operand : operands)
    broadcastAlign(dims, operand);
  return emit(name, operands, dims, type, std::move(attributes));
}

bool Builder::takeAsNumbers(ValueId value) {
  auto isTaken = [&](const ProgramArgument &argument) {
    return argument.value == value &&
           argument.kind == ProgramArgument::Kind::Input && !argument.constant;
  };
  auto uses = [&](const Operation &operation) {
    return contains(operation.operands, value);
  };
  auto argument =
      std::find_if(program.arguments.begin(), program.arguments.end(), isTaken);
  if (argument == program.arguments.end() ||
      std::any_of(program.operations.begin(), program.operations.end(), uses))
    return false;
  program.values[value].element = exact;
  argument->type = exact == "f64" ? ScalarType::F64 : ScalarType::F32;
  return true;
}

Tensor Builder::contracted(const Tensor &a, const Tensor &b, const Dims &dims,
                           ScalarType type) {
  AtomList kept = atomsOf(dims);
  std::vector<Tensor> operands = {a, b};
  // A sum over an atom that neither operand has is a factor.
  for (size_t i = 0; i < a.dims.size(); ++i)
    for (Atom leaf : program.atoms.leaves(a.dims[i]))
      if (!contains(kept, leaf) && !has(a, leaf) && !has(b, leaf)) {
        operands[0] = materialized(operands[0], i);
        break;
      }
  return emit("einsum", operands, dims, type);
}

Tensor Builder::multiplied(Tensor matrix, const Tensor &x, size_t dim) {
  align(x, dim, matrix, 1);
  makeDistinct(atomsOf(x.dims), matrix, 0);
  Dims dims = x.dims;
  dims[dim] = matrix.dims[0];
  return contracted(matrix, x, dims, x.type);
}

Sizes Builder::sizes(const Tensor &tensor) const {
  if (tensor.constant)
    return tensor.constant->sizes();
  Sizes all;
  for (const AtomList &dim : tensor.dims)
    all.push_back(program.atoms.extent(dim));
  return all;
}

AtomList Builder::atomsOf(const Dims &dims) const {
  AtomList all;
  for (const AtomList &dim : dims) {
    AtomList some = program.atoms.leaves(dim);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

bool Builder::has(const Tensor &tensor, Atom leaf) const {
  return contains(program.atoms.leaves(program.values[tensor.value].atoms),
                  leaf);
}

//===----------------------------------------------------------------------===//
// Which atoms are the same
//===----------------------------------------------------------------------===//

bool Builder::refine(const AtomList &a, const AtomList &b) {
  Atoms &atoms = program.atoms;
  for (;;) {
    AtomList one = atoms.leaves(a), other = atoms.leaves(b);
    size_t i = one.size(), j = other.size();
    while (i > 0 && j > 0 &&
           atoms.extent(one[i - 1]) == atoms.extent(other[j - 1]))
      --i, --j;
    if (i == 0 || j == 0)
      return i == j;
    int64_t p = atoms.extent(one[i - 1]), q = atoms.extent(other[j - 1]);
    if (p % q == 0)
      atoms.split(one[i - 1], q);
    else if (q % p == 0)
      atoms.split(other[j - 1], p);
    else
      return false;
  }
}

void Builder::refineRenamings() {
  auto atomsOfValue = [&](ValueId value) -> const AtomList & {
    return program.values[static_cast<size_t>(value)].atoms;
  };
  auto extentsOf = [&](ValueId value) {
    Sizes extents;
    for (Atom leaf : program.atoms.leaves(atomsOfValue(value)))
      extents.push_back(program.atoms.extent(leaf));
    return extents;
  };
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (const Operation &op : program.operations) {
      if (op.name != "rename" || !op.blocks.empty() ||
          extentsOf(op.operands[0]) == extentsOf(op.result))
        continue;
      if (!refine(atomsOfValue(op.operands[0]), atomsOfValue(op.result)))
        refuse("it divides an index in two ways that do not nest");
      isChanged = true;
    }
  }
}

/// An atom that stands for `leaf` in a tensor that has `taken`.
Atom Builder::secondRole(Atom leaf, const AtomList &taken) {
  Atom atom = program.atoms.partner(leaf);
  AtomList leaves = program.atoms.leaves(atom);
  if (leaves.size() == 1 && !contains(taken, leaves.front()))
    return leaves.front();
  return program.atoms.create(program.atoms.extent(leaf));
}

void Builder::rename(Tensor &tensor,
                     const std::vector<std::pair<Atom, Atom>> &map) {
  auto replaced = [&](Atom leaf) {
    for (auto [from, to] : map)
      if (from == leaf)
        return to;
    return leaf;
  };
  AtomList before = program.atoms.leaves(program.values[tensor.value].atoms);
  AtomList after;
  for (Atom leaf : before)
    after.push_back(replaced(leaf));
  for (AtomList &dim : tensor.dims) {
    dim = program.atoms.leaves(dim);
    for (Atom &leaf : dim)
      leaf = replaced(leaf);
  }
  if (after != before)
    tensor.value =
        emitValue("rename", {tensor.value}, after, elementOf(tensor));
  program.atoms.keepApart(atomsOf(tensor.dims));
}

void Builder::align(const Tensor &fixed, size_t fixedDim, Tensor &other,
                    size_t otherDim) {
  Dims dims = fixed.dims;
  const AtomList &goal = dims.at(fixedDim);
  if (program.atoms.extent(goal) !=
      program.atoms.extent(other.dims.at(otherDim)))
    refuse("dimensions of {} and {} positions meet", program.atoms.extent(goal),
           program.atoms.extent(other.dims.at(otherDim)));
  if (!refine(goal, other.dims[otherDim])) {
    other = blocked(other, otherDim);
    refine(goal, other.dims[otherDim]);
  }
  AtomList to = program.atoms.leaves(goal),
           from = program.atoms.leaves(other.dims[otherDim]);
  std::vector<std::pair<Atom, Atom>> map;
  AtomList all = atomsOf(other.dims);
  for (size_t i = 0; i < to.size(); ++i)
    if (!program.atoms.unify(to[i], from[i]))
      map.emplace_back(from[i], to[i]);
  // If `other` has a wanted atom elsewhere, that is renamed, too.
  AtomList taken = atomsOf(other.dims);
  AtomList ofFixed = atomsOf(fixed.dims);
  taken.insert(taken.end(), ofFixed.begin(), ofFixed.end());
  size_t wanted = map.size();
  for (size_t i = 0; i < wanted; ++i) {
    Atom goalLeaf = map[i].second;
    bool moves = std::any_of(map.begin(), map.end(), [&](const auto &one) {
      return one.first == goalLeaf;
    });
    if (!moves && contains(all, goalLeaf))
      map.emplace_back(goalLeaf, secondRole(goalLeaf, taken));
  }
  if (!map.empty())
    rename(other, map);
}

void Builder::makeDistinct(const AtomList &taken, Tensor &tensor, size_t dim) {
  std::vector<std::pair<Atom, Atom>> map;
  AtomList all = atomsOf(tensor.dims), leaves = program.atoms.leaves(taken);
  all.insert(all.end(), leaves.begin(), leaves.end());
  for (Atom leaf : program.atoms.leaves(tensor.dims.at(dim)))
    if (contains(leaves, leaf))
      map.emplace_back(leaf, secondRole(leaf, all));
  if (!map.empty())
    rename(tensor, map);
}

void Builder::broadcastAlign(Dims &dims, Tensor &other) {
  if (other.dims.size() > dims.size())
    dims.insert(dims.begin(), other.dims.size() - dims.size(), AtomList{});
  size_t shift = dims.size() - other.dims.size();
  // All dimensions are compared before atoms are renamed, so that [s, t] and
  // [t, s] swap.
  for (size_t i = 0; i < other.dims.size(); ++i)
    if (!dims[shift + i].empty() && !other.dims[i].empty() &&
        !refine(dims[shift + i], other.dims[i])) {
      other = blocked(other, i);
      refine(dims[shift + i], other.dims[i]);
    }
  std::vector<std::pair<Atom, Atom>> map;
  for (size_t i = 0; i < other.dims.size(); ++i) {
    AtomList to = program.atoms.leaves(dims[shift + i]),
             from = program.atoms.leaves(other.dims[i]);
    if (to.empty() || from.empty())
      continue;
    if (to.size() != from.size() ||
        program.atoms.extent(to) != program.atoms.extent(from))
      refuse("dimensions of {} and {} positions do not broadcast",
             program.atoms.extent(to), program.atoms.extent(from));
    for (size_t j = 0; j < to.size(); ++j)
      if (!program.atoms.unify(to[j], from[j]))
        map.emplace_back(from[j], to[j]);
  }
  AtomList taken = atomsOf(dims), own = atomsOf(other.dims);
  taken.insert(taken.end(), own.begin(), own.end());
  auto moves = [&](Atom leaf) {
    return std::any_of(map.begin(), map.end(),
                       [&](const auto &one) { return one.first == leaf; });
  };
  size_t wanted = map.size();
  for (size_t i = 0; i < wanted; ++i)
    if (Atom goal = map[i].second; !moves(goal) && contains(own, goal))
      map.emplace_back(goal, secondRole(goal, taken));
  AtomList before = atomsOf(dims);
  for (size_t i = 0; i < other.dims.size(); ++i)
    if (dims[shift + i].empty())
      for (Atom leaf : program.atoms.leaves(other.dims[i]))
        if (!moves(leaf) && contains(before, leaf))
          map.emplace_back(leaf, secondRole(leaf, taken));
  if (!map.empty())
    rename(other, map);
  for (size_t i = 0; i < other.dims.size(); ++i)
    if (dims[shift + i].empty())
      dims[shift + i] = other.dims[i];
  program.atoms.keepApart(atomsOf(dims));
}
