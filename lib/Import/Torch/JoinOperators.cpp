// Tensors of several tensors: one after the other, and with positions replaced.
#include "Joins.h"
#include "Positions.h"
#include "Refusal.h"

#include <algorithm>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;
using Constants = std::vector<ConstantPtr>;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static int64_t clamped(int64_t position, int64_t size) {
  if (position < 0)
    position += size;
  return std::min(std::max<int64_t>(position, 0), size);
}

Positions torch::slicedPositions(const Call &call, const Sizes &sizes) {
  Positions out;
  out.dim = call.dim("dim", sizes.size());
  int64_t size = sizes.at(out.dim);
  out.step = call.integer("step");
  if (out.step < 1)
    refuse("takes every {}th position", out.step);
  out.begin = call.isNone("start") ? 0 : clamped(call.integer("start"), size);
  int64_t end = call.isNone("end") ? size : clamped(call.integer("end"), size);
  int64_t length = std::max<int64_t>(end - out.begin, 0);
  out.count = (length + out.step - 1) / out.step;
  return out;
}

int64_t torch::positionOf(const Call &call, int64_t size) {
  int64_t at = call.integer("index");
  at += at < 0 ? size : 0;
  if (at < 0 || at >= size)
    refuse("takes position {} of {}", call.integer("index"), size);
  return at;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Adds a dimension of one position.
static Tensor withDim(Tensor x, size_t dim) {
  x.dims.insert(x.dims.begin() + static_cast<int64_t>(dim), AtomList{});
  return x;
}

static std::vector<Tensor> operandsOf(Call &call, const char *name) {
  std::vector<Tensor> all;
  bool isInteger = !isFloating(call.result().type);
  for (const auto &one : call.tensors(name)) {
    if (!one)
      refuse("lacks a tensor of its list");
    if (elementsOf(call.build.sizes(*one)) == 0)
      continue;
    isInteger =
        isInteger && !one->constant && call.build.elementOf(*one) == "i32";
    all.push_back(*one);
  }
  for (Tensor &one : all)
    if (!isInteger)
      one = call.lifted(one);
  if (all.empty())
    refuse("has no tensors");
  return all;
}

/// Gives all operands the first one's atoms, but along `dim`.
static Dims alignAll(Builder &build, std::vector<Tensor> &all,
                     std::optional<size_t> dim) {
  Dims dims;
  for (Tensor &one : all) {
    Tensor rest = one;
    AtomList own;
    if (dim) {
      // Distinct, so that what is renamed in the rest is not it.
      own = one.dims.at(*dim);
      rest.dims.erase(rest.dims.begin() + static_cast<int64_t>(*dim));
    }
    build.broadcastAlign(dims, rest);
    if (dim)
      rest.dims.insert(rest.dims.begin() + static_cast<int64_t>(*dim), own);
    one = rest;
  }
  return dims;
}

Tensor torch::concatenated(Builder &build, std::vector<Tensor> all, size_t dim,
                           int64_t size, ScalarType type) {
  if (all.size() == 1)
    return all.front();
  bool isSingle = true;
  for (Tensor &one : all) {
    isSingle &= build.sizes(one).at(dim) == 1;
    if (build.sizes(one).at(dim) > 1)
      one = build.single(one, dim);
    else
      one.dims[dim] = {build.program.atoms.create(1)};
  }
  Dims dims = alignAll(build, all, dim);
  for (Tensor &one : all)
    if (!isSingle)
      build.makeDistinct(build.atomsOf(dims), one, dim);
  Atom whole = build.program.atoms.create(size);
  Dims wholeDims = dims;
  wholeDims.insert(wholeDims.begin() + static_cast<int64_t>(dim), {whole});
  std::vector<ValueId> values;
  AtomList parts;
  for (Tensor &one : all) {
    Dims target = dims;
    if (!isSingle)
      target.insert(target.begin() + static_cast<int64_t>(dim), one.dims[dim]);
    Tensor part = one;
    part.dims = target;
    part = build.ordered(build.materialized(part));
    values.push_back(part.value);
    if (isSingle)
      continue;
    parts.push_back(build.program.atoms.leaves(one.dims[dim]).front());
    build.program.atoms.keepApart({whole, parts.back()});
  }
  Tensor out;
  out.type = type;
  out.dims = wholeDims;
  out.value =
      build.emitValue(isSingle ? "stack" : "concat", values,
                      build.atomsOf(wholeDims), build.elementOf(all.front()),
                      {{"index", IndexAttribute{{whole}}}}, parts);
  return out;
}

/// The index along which all tensors have positions, if they have.
static std::optional<AtomList> positionsOf(const Call &call,
                                           const std::vector<Tensor> &all) {
  std::optional<AtomList> along;
  for (const Tensor &one : all) {
    std::optional<Atom> its = call.positionsAlong(one);
    if (!its)
      return {};
    AtomList leaves = call.build.program.atoms.leaves(*its);
    if (leaves.size() != 1 || (along && *along != leaves))
      return {};
    along = leaves;
  }
  return along;
}

static Results cat(Call &call) {
  std::vector<Tensor> all = operandsOf(call, "tensors");
  size_t dim = call.dim("dim", all.front().dims.size());
  std::optional<AtomList> along = positionsOf(call, all);
  Tensor out = concatenated(call.build, all, dim, call.result().sizes.at(dim),
                            call.result().type);
  if (along)
    call.notePositions(out, along->front());
  return {out};
}

/// `self` with the positions from `begin` on along a dimension replaced by
/// those of `source`.
static Tensor replaced(Call &call, const Tensor &self, const Tensor &source,
                       size_t dim, int64_t begin) {
  Builder &build = call.build;
  Sizes sizes = build.sizes(self);
  int64_t end = begin + build.sizes(source).at(dim);
  std::vector<Tensor> parts;
  if (begin > 0)
    parts.push_back(build.cut(self, dim, 0, begin));
  parts.push_back(source);
  if (end < sizes.at(dim))
    parts.push_back(build.cut(self, dim, end, sizes[dim] - end));
  return concatenated(call.build, parts, dim, sizes[dim], call.result().type);
}

/// 1 at the positions, for tensors of these sizes.
static Tensor maskOf(const Positions &positions, const Sizes &sizes) {
  Sizes looked(sizes.size(), 1);
  looked[positions.dim] = sizes[positions.dim];
  Tensor mask;
  mask.type = ScalarType::Bool;
  mask.constant =
      Constant::evaluated(ScalarType::Bool, looked, [&](const Sizes &at) {
        return positions.has(at[positions.dim]) ? 1.0 : 0.0;
      });
  return mask;
}

/// The source at its positions of a dimension of `size`, and copies of it or 0
/// at others.
static Tensor spread(Call &call, const Tensor &source,
                     const Positions &positions, int64_t size) {
  Builder &build = call.build;
  size_t dim = positions.dim;
  Sizes sizes = build.sizes(source), wide = sizes;
  wide.insert(wide.begin() + static_cast<int64_t>(dim) + 1, positions.step);
  sizes[dim] *= positions.step;
  Tensor out =
      build.viewed(build.expanded(withDim(source, dim + 1), wide), sizes);
  int64_t count = std::min(sizes[dim], size - positions.begin);
  out = build.cut(out, dim, 0, count);
  return build.padded(out, dim, positions.begin, size - positions.begin - count,
                      0);
}

static Results sliceScatter(Call &call) {
  Builder &build = call.build;
  Tensor self = call.value("self"), source = call.value("src");
  Sizes sizes = build.sizes(self), part = sizes;
  Positions positions = slicedPositions(call, sizes);
  if (positions.count == 0)
    return {self};
  part[positions.dim] = positions.count;
  source = build.expanded(source, part);
  if (positions.step == 1)
    return {replaced(call, self, source, positions.dim, positions.begin)};
  Tensor mask = call.lifted(maskOf(positions, sizes), build.elementOf(self));
  source = spread(call, source, positions, sizes[positions.dim]);
  return {build.pointwise("select", {mask, source, self}, self.type)};
}

static Results selectScatter(Call &call) {
  Tensor self = call.value("self"), source = call.value("src");
  Sizes sizes = call.build.sizes(self);
  size_t dim = call.dim("dim", sizes.size());
  int64_t begin = positionOf(call, sizes.at(dim));
  return {replaced(call, self, withDim(source, dim), dim, begin)};
}

/// The source, in the sizes and the precision of `self`.
static Results copied(Call &call) {
  call.tensor("self");
  return {call.build.expanded(call.value("src"), call.result().sizes)};
}

Tensor torch::windows(Builder &build, Tensor image, const Sizes &kernel,
                      const Sizes &padding) {
  size_t rows = image.dims.size() - 2;
  for (size_t i : {0, 1})
    if (padding.at(i) > 0)
      image = build.padded(image, rows + i, padding[i], padding[i], 0);
  Sizes sizes = build.sizes(image);
  auto part = [&](const Tensor &x, size_t i, int64_t begin) {
    int64_t count = sizes[rows + i] - kernel.at(i) + 1;
    return kernel[i] == 1 ? x : build.cut(x, rows + i, begin, count);
  };
  std::vector<Tensor> all;
  for (int64_t row = 0; row < kernel.at(0); ++row)
    for (int64_t column = 0; column < kernel.at(1); ++column) {
      all.push_back(part(part(image, 0, row), 1, column));
      all.back().dims.insert(
          all.back().dims.begin() + static_cast<int64_t>(rows), AtomList{});
    }
  return concatenated(build, all, rows, static_cast<int64_t>(all.size()),
                      image.type);
}

static Results stack(Call &call) {
  Builder &build = call.build;
  std::vector<Tensor> all = operandsOf(call, "tensors");
  size_t dim = call.dim("dim", all.front().dims.size() + 1);
  Dims dims = alignAll(call.build, all, {});
  std::vector<ValueId> values;
  for (Tensor &one : all) {
    one.dims = dims;
    values.push_back(build.ordered(build.materialized(one)).value);
  }
  Tensor out;
  out.dims = dims;
  out.dims.insert(out.dims.begin() + static_cast<int64_t>(dim), AtomList{});
  if (all.size() == 1) {
    all.front().dims = out.dims;
    return all;
  }
  Atom whole = build.program.atoms.create(static_cast<int64_t>(all.size()));
  out.dims[dim] = {whole};
  out.value = build.emitValue("stack", values, build.atomsOf(out.dims),
                              build.elementOf(all.front()),
                              {{"index", IndexAttribute{{whole}}}});
  return {out};
}

static Results broadcastTensors(Call &call) {
  Results all;
  for (const Tensor &one : call.operands()) {
    const Sizes &sizes = call.result(all.size()).sizes;
    Tensor out = one;
    if (one.constant)
      out.constant = one.constant->expanded(sizes);
    else
      out = call.build.expanded(one, sizes);
    all.push_back(out);
  }
  return all;
}

/// The most positions that are put in another order one by one.
static constexpr int64_t mostFlipped = 256;

/// The dimensions in the opposite order.
static Results flip(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self");
  for (size_t dim : call.dims("dims", x.dims.size())) {
    int64_t size = build.sizes(x).at(dim);
    if (size > mostFlipped)
      refuse("turns {} positions round; known are up to {}", size, mostFlipped);
    std::vector<Tensor> parts;
    for (int64_t at = size; at-- > 0;)
      parts.push_back(withDim(build.taken(x, dim, at), dim));
    x = concatenated(call.build, parts, dim, size, call.result().type);
  }
  return {x};
}

/// Moves positions on, and the last ones to the front.
static Results roll(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self");
  Sizes shifts = call.list("shifts"), dims = call.list("dims");
  if (dims.empty() && x.dims.size() == 1)
    dims = {0};
  if (dims.size() != shifts.size())
    refuse("moves {} dimensions by {} numbers", dims.size(), shifts.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t dim = static_cast<size_t>(
        dims[i] < 0 ? dims[i] + static_cast<int64_t>(x.dims.size()) : dims[i]);
    int64_t size = build.sizes(x).at(dim);
    int64_t by = (shifts[i] % size + size) % size;
    if (by == 0)
      continue;
    x = concatenated(
        call.build,
        {build.cut(x, dim, size - by, by), build.cut(x, dim, 0, size - by)},
        dim, size, call.result().type);
  }
  return {x};
}

static Constants foldFlip(const Call &call) {
  ConstantPtr x = call.tensor("self").constant;
  std::vector<size_t> dims = call.dims("dims", x->sizes().size());
  return {Constant::evaluated(x->type(), x->sizes(), [&](const Sizes &at) {
    Sizes place = at;
    for (size_t dim : dims)
      place.at(dim) = x->sizes()[dim] - 1 - at[dim];
    return x->at(place);
  })};
}

static ConstantPtr joined(const Call &call,
                          const std::vector<ConstantPtr> &parts, size_t dim) {
  auto element = [&](const Sizes &position) {
    Sizes place = position;
    size_t part = 0;
    while (place.at(dim) >= parts.at(part)->sizes().at(dim))
      place[dim] -= parts[part++]->sizes()[dim];
    return parts[part]->at(place);
  };
  return Constant::evaluated(call.result().type, call.result().sizes, element);
}

static Constants foldCat(const Call &call) {
  std::vector<ConstantPtr> parts;
  for (const Tensor &one : call.operands())
    parts.push_back(one.constant);
  return {joined(call, parts, call.dim("dim", call.result().sizes.size()))};
}

/// A constant with these positions replaced.
static Constants foldReplaced(const Call &call, const ConstantPtr &source,
                              const Positions &positions) {
  ConstantPtr self = call.tensor("self").constant;
  size_t dim = positions.dim;
  auto element = [&](const Sizes &at) {
    if (!positions.has(at.at(dim)))
      return self->at(at);
    Sizes place = at;
    place[dim] = (at[dim] - positions.begin) / positions.step;
    return source->at(place);
  };
  return {
      Constant::evaluated(call.result().type, call.result().sizes, element)};
}

static Constants foldSliceScatter(const Call &call) {
  Sizes sizes = call.result().sizes;
  Positions positions = slicedPositions(call, sizes);
  sizes[positions.dim] = positions.count;
  return foldReplaced(call, call.tensor("src").constant->expanded(sizes),
                      positions);
}

static Constants foldSelectScatter(const Call &call) {
  Positions positions;
  positions.dim = call.dim("dim", call.result().sizes.size());
  positions.begin = positionOf(call, call.result().sizes.at(positions.dim));
  positions.count = 1;
  return foldReplaced(
      call, call.tensor("src").constant->unsqueezed(positions.dim), positions);
}

static Constants foldCopied(const Call &call) {
  call.tensor("self");
  return {call.tensor("src")
              .constant->expanded(call.result().sizes)
              ->converted(call.result().type)};
}

static Constants foldStack(const Call &call) {
  std::vector<ConstantPtr> parts;
  size_t dim = call.dim("dim", call.result().sizes.size());
  for (const Tensor &one : call.operands())
    parts.push_back(one.constant->unsqueezed(dim));
  return {joined(call, parts, dim)};
}

const Operators &torch::joinOperators() {
  static const Operators rows = {
      {"broadcast_tensors", "tensors", {}, broadcastTensors},
      {"cat", "tensors, dim=0", foldCat, cat},
      {"concat", "tensors, dim=0", foldCat, cat},
      {"stack", "tensors, dim=0", foldStack, stack},
      {"flip", "self, dims", foldFlip, flip},
      {"roll", "self, shifts, dims=[]", {}, roll},
      {"slice_scatter", "self, src, dim=0, start=None, end=None, step=1",
       foldSliceScatter, sliceScatter},
      {"select_scatter", "self, src, dim, index", foldSelectScatter,
       selectScatter},
      {"copy", "self, src", foldCopied, copied},
  };
  return rows;
}
