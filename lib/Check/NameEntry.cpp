#include "NameEntry.h"

#include "ExtentText.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/RankMesh.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;
using rt::invalid;
using rt::Status;

static std::string textOf(const Shape &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

static int64_t elementsOf(const Shape &shape) {
  int64_t product = 1;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product))
      return -1;
  return product;
}

Status Rearranger::evaluate(const ExtentTexts &texts, Shape &out) const {
  out.clear();
  for (const std::string &text : texts) {
    Status status = evaluateExtent(text, program.indices, out.emplace_back());
    if (!status.ok())
      return invalid("has an entry in which {}", status.message());
  }
  return {};
}

Status Rearranger::unpad(DumpedTensor &tensor) const {
  Shape extents;
  TPSP_TRY(evaluate(entry.unpad, extents));
  bool fits = extents.size() == tensor.shape.size();
  for (size_t i = 0; fits && i < extents.size(); ++i)
    fits = extents[i] >= 0 && extents[i] <= tensor.shape[i];
  if (!fits)
    return invalid("cannot be cut from {} to {}", textOf(tensor.shape),
                   textOf(extents));
  Block block{Shape(extents.size(), 0), extents};
  tensor.values = cutOut(tensor.values, tensor.shape, block);
  tensor.shape = extents;
  return {};
}

Status Rearranger::reshape(const ExtentTexts &texts,
                           DumpedTensor &tensor) const {
  Shape shape;
  TPSP_TRY(evaluate(texts, shape));
  auto open = std::find(shape.begin(), shape.end(), -1);
  auto count = int64_t(tensor.values.size());
  if (open != shape.end()) {
    *open = 1;
    int64_t others = elementsOf(shape);
    *open = others > 0 && count % others == 0 ? count / others : -1;
  }
  if (elementsOf(shape) != count)
    return invalid("is {} and has other elements than [{}]",
                   textOf(tensor.shape), fmt::join(texts, ", "));
  tensor.shape = shape;
  return {};
}

Status Rearranger::permute(DumpedTensor &tensor) const {
  if (entry.permute.size() != tensor.shape.size())
    return invalid("is {}, and 'permute' has {} dimensions",
                   textOf(tensor.shape), entry.permute.size());
  tensor.values = transposed(tensor.values, tensor.shape, entry.permute);
  tensor.shape = transposedShape(tensor.shape, entry.permute);
  return {};
}

/// Sizes are in any unit: a rank may have a share of each part.
Status Rearranger::split(size_t number, DumpedTensor &tensor) const {
  Shape sizes;
  TPSP_TRY(evaluate(entry.sizes, sizes));
  int64_t total = 0, before = 0;
  bool fits = entry.splitDim < tensor.shape.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    fits &= sizes[i] >= 0 && !__builtin_add_overflow(total, sizes[i], &total);
    before += i < number ? sizes[i] : 0;
  }
  int64_t extent = fits ? tensor.shape[entry.splitDim] : 0;
  constexpr int64_t most = int64_t(1) << 30;
  fits &= total > 0 && total < most && extent < most;
  if (!fits || extent * sizes[number] % total != 0 ||
      extent * before % total != 0)
    return invalid("is {}, which cannot be split along dimension {} into "
                   "shares of {}",
                   textOf(tensor.shape), entry.splitDim,
                   fmt::join(sizes, ", "));
  Block block{Shape(tensor.shape.size(), 0), tensor.shape};
  block.begin[entry.splitDim] = extent * before / total;
  block.count[entry.splitDim] = extent * sizes[number] / total;
  tensor.values = cutOut(tensor.values, tensor.shape, block);
  tensor.shape = block.count;
  return {};
}

Status Rearranger::rearrange(size_t number, DumpedTensor &tensor) const {
  if (entry.padded)
    TPSP_TRY(removePadding(tensor));
  if (!entry.unpad.empty())
    TPSP_TRY(unpad(tensor));
  if (!entry.shape.empty())
    TPSP_TRY(reshape(entry.shape, tensor));
  if (!entry.permute.empty())
    TPSP_TRY(permute(tensor));
  if (!entry.sizes.empty())
    TPSP_TRY(split(number, tensor));
  return entry.reshape.empty() ? Status() : reshape(entry.reshape, tensor);
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

/// The extents of the whole tensor, if the ranks hold blocks of it in this
/// form. Ranks lack no part.
static Status wholeShape(const rt::RankMesh &mesh, const DumpEntry &tensor,
                         const Form &form, Shape &out) {
  out = tensor.ranks.front()->shape;
  for (size_t dim = 0; dim < out.size(); ++dim) {
    rt::RankGroup group;
    TPSP_TRY(mesh.group(0, form.axes[dim], group));
    out[dim] = 0;
    for (int64_t rank : group.ranks) {
      const Shape &shape = tensor.ranks[rank]->shape;
      if (shape.size() != out.size())
        return invalid("has {} dimensions on rank 0, and {} on rank {}",
                       out.size(), shape.size(), rank);
      out[dim] += shape[dim];
    }
  }
  return {};
}

/// Every rank gets the whole tensor, as its group has it together.
Status Rearranger::putTogether(DumpEntry &tensor) const {
  if (entry.padded)
    tensor.placement.clear();
  for (const std::string &axis :
       entry.padded ? entry.padded->axes : std::vector<std::string>())
    tensor.placement[axis] = fmt::format("Shard({})", entry.padded->dim);
  rt::RankMesh mesh;
  TPSP_TRY(rt::RankMesh::create(program.mesh, mesh));
  if (mesh.numRanks() != int64_t(tensor.ranks.size()))
    return invalid("is of {} ranks, and the mesh has {}", tensor.ranks.size(),
                   mesh.numRanks());
  for (size_t rank = 0; rank < tensor.ranks.size(); ++rank)
    if (!tensor.ranks[rank])
      return invalid("is not in the file of rank {}, and has to be put "
                     "together",
                     rank);
  PlanBuffer buffer;
  buffer.shape = tensor.ranks.front()->shape;
  buffer.axes.resize(buffer.shape.size());
  PlacedTensor placed(buffer, mesh);
  std::optional<Form> form = statedForm(placed, tensor);
  if (!form)
    return invalid("has no placement in the dump, and has to be put together "
                   "from the ranks' parts");
  TPSP_TRY(wholeShape(mesh, tensor, *form, buffer.shape));
  if (!fits(placed, *form, tensor))
    return invalid("has parts that are not those of {} by its placement",
                   textOf(buffer.shape));
  RankValues values;
  for (const std::optional<DumpedTensor> &each : tensor.ranks)
    values.push_back(each->values);
  for (size_t rank = 0; rank < tensor.ranks.size(); ++rank) {
    tensor.ranks[rank]->values = wholeOf(placed, *form, values, int64_t(rank));
    tensor.ranks[rank]->shape = buffer.shape;
  }
  for (auto &[axis, text] : tensor.placement)
    if (text.find("Shard") != std::string::npos)
      text = "Replicate";
  return {};
}

Status Rearranger::removePadding(DumpedTensor &tensor) const {
  Shape extent;
  TPSP_TRY(evaluate({entry.padded->extent}, extent));
  size_t dim = entry.padded->dim;
  if (dim >= tensor.shape.size() || extent[0] < 0 ||
      extent[0] > tensor.shape[dim])
    return invalid("is {} with its padding, and cannot be cut to {} along "
                   "dimension {}",
                   textOf(tensor.shape), extent[0], dim);
  Block kept{Shape(tensor.shape.size(), 0), tensor.shape};
  kept.count[dim] = extent[0];
  tensor.values = cutOut(tensor.values, tensor.shape, kept);
  tensor.shape = kept.count;
  return {};
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

/// The dimension of `to` that begins where dimension `dim` of `from` does, if
/// both have as many elements; -1 if there is none.
static int64_t sameDimension(const Shape &from, const Shape &to, int64_t dim) {
  int64_t before = elementsOf(Shape(from.begin(), from.begin() + dim));
  int64_t product = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (product == before && to[i] > 1)
      return int64_t(i);
    product *= to[i];
  }
  return -1;
}

/// The number in "Shard(0)" or "_StridedShard(dim=0, sf=2)": its place and its
/// length; a length of 0 if there is none.
static std::pair<size_t, size_t> dimensionIn(const std::string &placement) {
  size_t begin = placement.find("Shard(");
  if (begin != std::string::npos)
    begin = placement.find_first_of("0123456789", begin);
  if (begin == std::string::npos)
    return {0, 0};
  size_t end = placement.find_first_not_of("0123456789", begin);
  return {begin, (end == std::string::npos ? placement.size() : end) - begin};
}

/// Moves what the dump says about a tensor's placement, as its dimensions are
/// moved. `before` is the shape of a rank before. A placement that the new
/// dimensions cannot have is left out, and the shapes decide. INVALID if a
/// shard would have to move with a reshape at the end.
Status Rearranger::rearrangePlacement(const Shape &before,
                                      DumpEntry &tensor) const {
  std::map<std::string, std::string> placement = std::move(tensor.placement);
  tensor.placement.clear();
  Shape from = before;
  if (!entry.unpad.empty())
    TPSP_TRY(evaluate(entry.unpad, from));
  for (auto &[axis, text] : placement) {
    auto [begin, length] = dimensionIn(text);
    constexpr size_t mostDigits = 6;
    if (length > 0) {
      // A reshape at the end is of dimensions that have moved.
      if (!entry.reshape.empty())
        return invalid("has the placement {}, which 'reshape' cannot move; add "
                       "\"whole\": true",
                       text);
      int64_t dim =
          std::stoll(text.substr(begin, std::min(length, mostDigits)));
      Shape shape = from;
      if (dim < int64_t(from.size()) && !entry.shape.empty()) {
        DumpedTensor like{0, from, {}};
        like.values.resize(std::max<int64_t>(elementsOf(from), 0));
        TPSP_TRY(reshape(entry.shape, like));
        dim = sameDimension(from, like.shape, dim);
        shape = like.shape;
      }
      if (dim >= 0 && dim < int64_t(shape.size()) && !entry.permute.empty())
        dim = int64_t(inverseOf(entry.permute)[dim]);
      if (dim < 0 || dim >= int64_t(shape.size())) {
        tensor.placement.clear();
        return {};
      }
      text.replace(begin, length, fmt::to_string(dim));
    }
    tensor.placement[axis] = text;
  }
  return {};
}

Status Rearranger::apply(size_t number, DumpEntry &tensor) const {
  if (entry.padded || entry.isWhole)
    TPSP_TRY(putTogether(tensor));
  Shape before;
  for (std::optional<DumpedTensor> &each : tensor.ranks) {
    if (!each)
      continue;
    if (before.empty())
      before = each->shape;
    TPSP_TRY(rearrange(number, *each));
  }
  return rearrangePlacement(before, tensor);
}
