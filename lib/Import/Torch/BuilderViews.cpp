#include "Builder.h"
#include "Refusal.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

Tensor Builder::materialized(const Tensor &tensor, std::optional<size_t> dim) {
  AtomList atoms;
  bool isWhole = true;
  for (size_t i = 0; i < tensor.dims.size(); ++i)
    for (Atom leaf : program.atoms.leaves(tensor.dims[i])) {
      bool isThere = has(tensor, leaf);
      if (!isThere && dim && *dim != i)
        continue;
      isWhole &= isThere;
      atoms.push_back(leaf);
    }
  if (isWhole)
    return tensor;
  if (elementOf(tensor) == "i32")
    refuse("it repeats integers of an input along a new dimension");
  Tensor out = tensor;
  out.value = emitValue("broadcast", {tensor.value}, atoms, elementOf(tensor));
  return out;
}

Tensor Builder::ordered(const Tensor &tensor) {
  AtomList wanted;
  for (Atom leaf : atomsOf(tensor.dims))
    if (has(tensor, leaf))
      wanted.push_back(leaf);
  if (wanted == program.atoms.leaves(program.values[tensor.value].atoms))
    return tensor;
  if (elementOf(tensor) == "i32")
    refuse("it transposes integers of an input");
  Tensor out = tensor;
  out.value = emitValue("einsum", {tensor.value}, wanted, elementOf(tensor));
  return out;
}

Tensor Builder::blocked(const Tensor &tensor, size_t dim) {
  Tensor out = ordered(materialized(tensor, dim));
  AtomList parts = program.atoms.leaves(out.dims[dim]), atoms;
  Atom whole = program.atoms.create(program.atoms.extent(parts));
  for (Atom leaf : program.atoms.leaves(program.values[out.value].atoms)) {
    if (std::find(parts.begin(), parts.end(), leaf) == parts.end())
      atoms.push_back(leaf);
    else if (leaf == parts.front())
      atoms.push_back(whole);
  }
  std::string name = parts.size() == 1 ? "rename" : "merge";
  program.atoms.keepApart({whole, parts.front()});
  AtomList blocks = {whole};
  if (parts.size() == 1)
    blocks.push_back(parts.front());
  out.value = emitValue(name, {out.value}, atoms, elementOf(out), {}, blocks);
  out.dims[dim] = {whole};
  return out;
}

Tensor Builder::single(const Tensor &tensor, size_t dim) {
  Tensor out = materialized(tensor, dim);
  if (program.atoms.leaves(out.dims.at(dim)).size() == 1)
    return out;
  if (out.dims[dim].empty())
    refuse("a dimension of one position is divided");
  return blocked(out, dim);
}

/// Takes leaves of together `size` positions from the front of `left`. Splits
/// the last one if it is too large. Not exact: the extents do not nest.
AtomList Builder::takeLeaves(AtomList &left, int64_t size, bool &isExact) {
  AtomList dim;
  int64_t need = size;
  while (need > 1) {
    if (left.empty()) {
      isExact = false;
      return dim;
    }
    int64_t extent = program.atoms.extent(left.front());
    if (need % extent == 0) {
      need /= extent;
    } else if (extent % need == 0) {
      program.atoms.split(left.front(), extent / need);
      AtomList parts = program.atoms.leaves(left.front());
      left.erase(left.begin());
      left.insert(left.begin(), parts.begin(), parts.end());
      need = 1;
    } else {
      isExact = false;
      return dim;
    }
    dim.push_back(left.front());
    left.erase(left.begin());
  }
  return dim;
}

Tensor Builder::viewed(const Tensor &tensor, const Sizes &wanted) {
  if (elementsOf(wanted) != elementsOf(sizes(tensor)))
    refuse("a tensor of [{}] is viewed as [{}]", fmt::join(sizes(tensor), ", "),
           fmt::join(wanted, ", "));
  Tensor out = tensor;
  AtomList left = atomsOf(tensor.dims);
  Dims dims;
  bool isExact = true;
  for (int64_t size : wanted)
    dims.push_back(takeLeaves(left, size, isExact));
  if (isExact) {
    out.dims = std::move(dims);
    return out;
  }
  // Extents that do not nest are merged, and split again.
  out.dims = {atomsOf(tensor.dims)};
  out = blocked(out, 0);
  left = out.dims.front();
  out.dims.clear();
  isExact = true;
  for (int64_t size : wanted)
    out.dims.push_back(takeLeaves(left, size, isExact));
  return out;
}

Tensor Builder::expanded(const Tensor &tensor, const Sizes &wanted) {
  Tensor out = tensor;
  if (wanted.size() < tensor.dims.size())
    refuse("a tensor of [{}] is expanded to [{}]",
           fmt::join(sizes(tensor), ", "), fmt::join(wanted, ", "));
  out.dims.insert(out.dims.begin(), wanted.size() - tensor.dims.size(),
                  AtomList{});
  for (size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] > 1 && out.dims[i].empty())
      out.dims[i] = {program.atoms.create(wanted[i])};
  program.atoms.keepApart(atomsOf(out.dims));
  return out;
}

Tensor Builder::taken(const Tensor &tensor, size_t dim, int64_t position) {
  Tensor out = tensor;
  AtomList leaves = program.atoms.leaves(tensor.dims.at(dim));
  out.dims.erase(out.dims.begin() + static_cast<int64_t>(dim));
  // The position along each atom, from the minor one on.
  for (size_t i = leaves.size(); i-- > 0;) {
    int64_t extent = program.atoms.extent(leaves[i]), at = position % extent;
    position /= extent;
    if (!has(out, leaves[i]))
      continue;
    AtomList atoms;
    for (Atom leaf : program.atoms.leaves(program.values[out.value].atoms))
      if (leaf != leaves[i])
        atoms.push_back(leaf);
    out.value = emitValue("take", {out.value}, atoms, elementOf(out),
                          {{"at", at}, {"index", IndexAttribute{{leaves[i]}}}});
  }
  return out;
}

Tensor Builder::cut(const Tensor &tensor, size_t dim, int64_t begin,
                    int64_t count) {
  if (begin == 0 && count == program.atoms.extent(tensor.dims.at(dim)))
    return tensor;
  if (count == 1) {
    Tensor out = taken(tensor, dim, begin);
    out.dims.insert(out.dims.begin() + static_cast<int64_t>(dim), AtomList{});
    return out;
  }
  Tensor out = tensor;
  AtomList leaves = program.atoms.leaves(tensor.dims[dim]);
  Atom part = program.atoms.create(count);
  bool isBroadcast = std::none_of(leaves.begin(), leaves.end(),
                                  [&](Atom leaf) { return has(tensor, leaf); });
  if (isBroadcast) {
    out.dims[dim] = {part};
    return out;
  }
  out = single(tensor, dim);
  Atom whole = program.atoms.leaves(out.dims[dim]).front();
  program.atoms.keepApart({whole, part});
  AtomList atoms;
  for (Atom leaf : program.atoms.leaves(program.values[out.value].atoms))
    atoms.push_back(leaf == whole ? part : leaf);
  out.value =
      emitValue("cut", {out.value}, atoms, elementOf(out),
                {{"index", IndexAttribute{{whole}}}, {"from", begin}}, {part});
  out.dims[dim] = {part};
  return out;
}

Tensor Builder::padded(const Tensor &tensor, size_t dim, int64_t before,
                       int64_t after, double value) {
  if (before == 0 && after == 0)
    return tensor;
  Tensor out = tensor;
  if (out.dims.at(dim).empty())
    out.dims[dim] = {program.atoms.create(1)};
  out = single(out, dim);
  Atom part = program.atoms.leaves(out.dims[dim]).front();
  Atom whole =
      program.atoms.create(program.atoms.extent(part) + before + after);
  program.atoms.keepApart({whole, part});
  AtomList atoms;
  for (Atom leaf : program.atoms.leaves(program.values[out.value].atoms))
    atoms.push_back(leaf == part ? whole : leaf);
  Attributes attributes = {{"index", IndexAttribute{{whole}}},
                           {"before", before}};
  if (value != 0)
    attributes["value"] = value;
  out.value = emitValue("pad", {out.value}, atoms, elementOf(out),
                        std::move(attributes), {part});
  out.dims[dim] = {whole};
  return out;
}
