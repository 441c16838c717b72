#include "Form.h"

#include "tpsp/Runtime/Driver/Tensors/Shard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

using namespace tpsp;
using namespace tpsp::check;

std::vector<std::string> tpsp::check::indexNamesOf(const PlanBuffer &tensor) {
  std::vector<std::string> names;
  std::string name;
  bool isName = true;
  for (char c : tensor.subscripts + ",") {
    if (c == '|' || c == ',') {
      if (!name.empty())
        names.push_back(name);
      name.clear();
      isName = c == ',';
    } else if (c == '@') {
      isName = false;
    } else if (isName && c != ' ') {
      name += c;
    }
  }
  names.resize(tensor.shape.size());
  return names;
}

//===----------------------------------------------------------------------===//
// PlacedTensor
//===----------------------------------------------------------------------===//

std::vector<int64_t> PlacedTensor::dividing() const {
  std::vector<int64_t> all;
  for (const std::vector<int64_t> &axes : tensor.axes)
    all.insert(all.end(), axes.begin(), axes.end());
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<int64_t> PlacedTensor::copied() const {
  std::vector<int64_t> divides = dividing(), rest;
  for (int64_t axis = 0; axis < int64_t(ranks.axes().size()); ++axis)
    if (ranks.axes()[axis].size > 1 &&
        !std::binary_search(divides.begin(), divides.end(), axis))
      rest.push_back(axis);
  return rest;
}

/// The number of a rank in the group of some axes, and the group's size.
static std::pair<int64_t, int64_t> placeIn(const rt::RankMesh &mesh,
                                           int64_t rank,
                                           const std::vector<int64_t> &axes) {
  std::vector<int64_t> at = mesh.coordinates(rank);
  int64_t number = 0, size = 1;
  for (int64_t axis : axes) {
    number = number * mesh.axes()[axis].size + at[axis];
    size *= mesh.axes()[axis].size;
  }
  return {number, size};
}

Shape PlacedTensor::partShape(int64_t rank) const {
  Shape shape;
  for (size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    auto [number, size] = placeIn(ranks, rank, tensor.axes[dim]);
    // A piece of a row of elements has no other extent.
    if (tensor.heldExtent(dim) % size != 0)
      return {
          rt::Shard(tensor, ranks.axes(), ranks.coordinates(rank)).elements()};
    int64_t held = tensor.heldExtent(dim) / size;
    shape.push_back(
        std::clamp<int64_t>(tensor.shape[dim] - number * held, 0, held));
  }
  return shape;
}

std::vector<double> PlacedTensor::partOf(const std::vector<double> &whole,
                                         int64_t rank) const {
  std::vector<double> part;
  rt::Shard(tensor, ranks.axes(), ranks.coordinates(rank))
      .forEachRun([&](int64_t global, int64_t, int64_t count) {
        part.insert(part.end(), whole.begin() + global,
                    whole.begin() + global + count);
      });
  return part;
}

RankValues PlacedTensor::partsOf(const std::vector<double> &whole) const {
  RankValues parts;
  for (int64_t rank = 0; rank < ranks.numRanks(); ++rank)
    parts.push_back(partOf(whole, rank));
  return parts;
}

std::vector<double> PlacedTensor::wholeAt(const RankValues &parts,
                                          int64_t rank) const {
  std::vector<double> whole(tensor.elements());
  rt::RankGroup group;
  if (!ranks.group(rank, dividing(), group).ok())
    return whole;
  for (int64_t other : group.ranks) {
    const std::vector<double> &part = parts[other];
    size_t next = 0;
    rt::Shard(tensor, ranks.axes(), ranks.coordinates(other))
        .forEachRun([&](int64_t global, int64_t, int64_t count) {
          if (next + count <= part.size())
            std::copy_n(part.begin() + next, count, whole.begin() + global);
          next += count;
        });
  }
  return whole;
}

/// The positions that a rank has of a dimension, as torch divides it. Pieces
/// have one size, and the last ones are smaller or empty.
static std::pair<int64_t, int64_t> pieceOf(int64_t extent, int64_t number,
                                           int64_t size) {
  int64_t piece = (extent + size - 1) / size;
  int64_t begin = std::min(extent, number * piece);
  return {begin, std::min(extent, begin + piece)};
}

/// A rank's block of a whole tensor in a form that divides it in another way.
static Block blockIn(const PlacedTensor &tensor, const Form &form,
                     int64_t rank) {
  Block block;
  const Shape &shape = tensor.buffer().shape;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    auto [number, size] = placeIn(tensor.mesh(), rank, form.axes[dim]);
    auto [begin, end] = pieceOf(shape[dim], number, size);
    block.begin.push_back(begin);
    block.count.push_back(end - begin);
  }
  return block;
}

RankValues tpsp::check::summed(const rt::RankMesh &mesh,
                               const RankValues &values,
                               const std::vector<int64_t> &axes) {
  RankValues out(values.size());
  for (int64_t rank = 0; rank < int64_t(values.size()); ++rank) {
    rt::RankGroup group;
    if (!mesh.group(rank, axes, group).ok())
      continue;
    std::vector<double> &sum = out[rank];
    for (int64_t other : group.ranks) {
      sum.resize(std::max(sum.size(), values[other].size()));
      for (size_t i = 0; i < values[other].size(); ++i)
        sum[i] += values[other][i];
    }
  }
  return out;
}

std::vector<std::vector<int64_t>>
tpsp::check::subsetsOf(const std::vector<int64_t> &list) {
  std::vector<std::vector<int64_t>> all;
  for (uint64_t bits = 0; bits < uint64_t(1) << list.size(); ++bits) {
    std::vector<int64_t> &subset = all.emplace_back();
    for (size_t i = 0; i < list.size(); ++i)
      if (bits >> i & 1)
        subset.push_back(list[i]);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto &a, const auto &b) {
    return a.size() < b.size();
  });
  return all;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// The shape of a rank in a form, with its dimensions in the program's order.
static Shape orderedShape(const PlacedTensor &tensor, const Form &form,
                          int64_t rank) {
  switch (form.kind) {
  case Form::Part:
    return tensor.partShape(rank);
  case Form::Cut:
    return blockIn(tensor, form, rank).count;
  default:
    return tensor.buffer().shape;
  }
}

/// The same with its dimensions in the form's order.
static Shape shapeIn(const PlacedTensor &tensor, const Form &form,
                     int64_t rank) {
  Shape shape = orderedShape(tensor, form, rank);
  return form.order.empty() ? shape : transposedShape(shape, form.order);
}

/// Extents of 1 decide nothing: a loss may be [] or [1].
static Shape withoutOnes(Shape shape) {
  shape.erase(std::remove(shape.begin(), shape.end(), 1), shape.end());
  return shape;
}

bool tpsp::check::fits(const PlacedTensor &tensor, const Form &form,
                       const DumpEntry &entry) {
  for (size_t rank = 0; rank < entry.ranks.size(); ++rank) {
    if (!entry.ranks[rank])
      continue;
    const Shape &shape = entry.ranks[rank]->shape;
    Shape wanted = shapeIn(tensor, form, int64_t(rank));
    if (shape != wanted && withoutOnes(shape) != withoutOnes(wanted))
      return false;
  }
  return true;
}

static std::string axesText(const PlacedTensor &tensor,
                            const std::vector<int64_t> &axes) {
  std::vector<std::string> names;
  for (int64_t axis : axes)
    names.push_back(tensor.mesh().axes()[axis].name);
  return fmt::format("{}", fmt::join(names, " and "));
}

/// A tensor's placement along one mesh axis, in torch's words.
struct Stated {
  enum { Copies, Summands, Shards, StridedShards } how = Copies;
  int64_t dim = 0;
};

/// Reads "Replicate", "Partial(sum)", "Shard(0)" or "_StridedShard(dim=0,
/// sf=2)", of a tensor of so many dimensions.
static std::optional<Stated> parsePlacement(const std::string &text,
                                            int64_t dims) {
  Stated stated;
  if (text.rfind("Replicate", 0) == 0)
    return stated;
  if (text.rfind("Partial", 0) == 0 || text.rfind("_Partial", 0) == 0) {
    stated.how = Stated::Summands;
    return stated;
  }
  bool isStrided = text.rfind("_StridedShard(", 0) == 0;
  if (!isStrided && text.rfind("Shard(", 0) != 0)
    return std::nullopt;
  stated.how = isStrided ? Stated::StridedShards : Stated::Shards;
  size_t digits = text.find_first_of("-0123456789");
  long dim = digits == std::string::npos
                 ? dims
                 : std::strtol(text.c_str() + digits, nullptr, 10);
  stated.dim = dim < 0 ? dim + dims : dim;
  if (stated.dim < 0 || stated.dim >= dims)
    return std::nullopt;
  return stated;
}

std::optional<Form> tpsp::check::statedForm(const PlacedTensor &tensor,
                                            const DumpEntry &entry) {
  if (entry.placement.empty())
    return std::nullopt;
  auto dims = int64_t(tensor.buffer().shape.size());
  std::vector<std::vector<int64_t>> plain(dims), strided(dims);
  Form form;
  const std::vector<MeshAxis> &mesh = tensor.mesh().axes();
  for (int64_t axis = 0; axis < int64_t(mesh.size()); ++axis) {
    auto found = entry.placement.find(mesh[axis].name);
    if (found == entry.placement.end())
      continue;
    std::optional<Stated> stated = parsePlacement(found->second, dims);
    if (!stated)
      return std::nullopt;
    if (stated->how == Stated::Shards)
      plain[stated->dim].push_back(axis);
    if (stated->how == Stated::StridedShards)
      strided[stated->dim].push_back(axis);
    if (stated->how == Stated::Summands)
      form.pending.push_back(axis);
  }
  // A strided shard is the minor one, though its axis comes first.
  for (int64_t dim = 0; dim < dims; ++dim)
    plain[dim].insert(plain[dim].end(), strided[dim].begin(),
                      strided[dim].end());
  form.axes = std::move(plain);
  bool isWhole = std::all_of(
      form.axes.begin(), form.axes.end(),
      [](const std::vector<int64_t> &axes) { return axes.empty(); });
  form.kind = form.axes == tensor.buffer().axes ? Form::Part
              : isWhole                         ? Form::Whole
                                                : Form::Cut;
  if (!form.pending.empty())
    form.note = "summands over " + axesText(tensor, form.pending);
  return form;
}

/// The first form in which one dimension is divided by some axes, in any order,
/// and no other dimension.
static std::optional<Form> otherCut(const PlacedTensor &tensor,
                                    const DumpEntry &entry) {
  std::vector<int64_t> all(tensor.mesh().axes().size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::string> names = indexNamesOf(tensor.buffer());
  if (all.size() > 6)
    return std::nullopt;
  for (const std::vector<int64_t> &axes : subsetsOf(all))
    for (size_t dim = 0; !axes.empty() && dim < names.size(); ++dim) {
      Form form;
      form.kind = Form::Cut;
      form.axes.resize(names.size());
      form.axes[dim] = axes;
      form.note =
          fmt::format("{} divided by {}", names[dim], axesText(tensor, axes));
      if (fits(tensor, form, entry))
        return form;
    }
  return std::nullopt;
}

/// The first form of the program's parts, or of whole tensors, with dimensions
/// in another order.
static std::optional<Form> otherOrder(const PlacedTensor &tensor,
                                      const DumpEntry &entry) {
  constexpr size_t mostDims = 5;
  std::vector<std::string> names = indexNamesOf(tensor.buffer());
  if (names.size() > mostDims)
    return std::nullopt;
  std::vector<size_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  while (std::next_permutation(order.begin(), order.end()))
    for (Form::Kind kind : {Form::Part, Form::Whole}) {
      Form form;
      form.kind = kind;
      form.order = order;
      std::vector<std::string> ordered;
      for (size_t dim : order)
        ordered.push_back(names[dim]);
      form.note = fmt::format("transposed, [{}]", fmt::join(ordered, ", "));
      if (fits(tensor, form, entry))
        return form;
    }
  return std::nullopt;
}

std::optional<Form> tpsp::check::formOf(const PlacedTensor &tensor,
                                        const DumpEntry &entry) {
  std::optional<Form> stated = statedForm(tensor, entry);
  if (stated && fits(tensor, *stated, entry)) {
    stated->isStated = true;
    return stated;
  }
  for (Form::Kind kind : {Form::Part, Form::Whole}) {
    Form form;
    form.kind = kind;
    if (fits(tensor, form, entry))
      return form;
  }
  if (std::optional<Form> cut = otherCut(tensor, entry))
    return cut;
  return otherOrder(tensor, entry);
}

RankValues tpsp::check::inForm(const PlacedTensor &tensor, const Form &form,
                               const RankValues &parts) {
  RankValues out(parts.size());
  for (int64_t rank = 0; rank < int64_t(parts.size()); ++rank) {
    out[rank] =
        form.kind == Form::Part ? parts[rank] : tensor.wholeAt(parts, rank);
    if (form.kind == Form::Cut)
      out[rank] =
          cutOut(out[rank], tensor.buffer().shape, blockIn(tensor, form, rank));
    if (!form.order.empty())
      out[rank] =
          transposed(out[rank], orderedShape(tensor, form, rank), form.order);
  }
  return out;
}

/// The values with their dimensions in the program's order. Ranks without
/// values stay so.
static RankValues inOrder(const PlacedTensor &tensor, const Form &form,
                          RankValues values) {
  if (form.order.empty())
    return values;
  for (int64_t rank = 0; rank < int64_t(values.size()); ++rank)
    values[rank] = transposed(values[rank], shapeIn(tensor, form, rank),
                              inverseOf(form.order));
  return values;
}

/// The axes over which a form divides a tensor.
static std::vector<int64_t> dividingIn(const PlacedTensor &tensor,
                                       const Form &form) {
  if (form.kind == Form::Part)
    return tensor.dividing();
  std::vector<int64_t> dividing;
  for (const std::vector<int64_t> &axes : form.axes)
    if (form.kind == Form::Cut)
      dividing.insert(dividing.end(), axes.begin(), axes.end());
  return dividing;
}

bool tpsp::check::isComplete(const PlacedTensor &tensor, const Form &form,
                             const RankValues &values, int64_t rank) {
  rt::RankGroup group;
  return tensor.mesh().group(rank, dividingIn(tensor, form), group).ok() &&
         std::none_of(group.ranks.begin(), group.ranks.end(),
                      [&](int64_t other) { return values[other].empty(); });
}

std::vector<double> tpsp::check::wholeOf(const PlacedTensor &tensor,
                                         const Form &form,
                                         const RankValues &values,
                                         int64_t rank) {
  RankValues ordered = inOrder(tensor, form, values);
  if (form.kind == Form::Part)
    return tensor.wholeAt(ordered, rank);
  if (form.kind == Form::Whole)
    return std::move(ordered[rank]);
  std::vector<double> whole(tensor.buffer().elements());
  rt::RankGroup group;
  if (!tensor.mesh().group(rank, dividingIn(tensor, form), group).ok())
    return whole;
  for (int64_t other : group.ranks)
    putInto(whole, tensor.buffer().shape, blockIn(tensor, form, other),
            ordered[other]);
  return whole;
}
