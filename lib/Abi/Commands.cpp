#include "tpsp/Abi/Commands.h"

#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>

namespace tpsp::rt {
namespace {

bool fits(std::initializer_list<int64_t> factors) {
  int64_t product;
  // A zero factor must not hide an overflow of the other factors: strides and
  // sizes are computed from sub-products too.
  int64_t nonZero = 1;
  for (int64_t factor : factors)
    if (factor != 0 &&
        (!checkedProduct({nonZero, factor}, nonZero) || nonZero > maxElements))
      return false;
  return checkedProduct(factors, product);
}

/// Whether a tensor of these extents and strides, and of `features` innermost,
/// is dense. The stride of an extent of 1 does not matter.
bool isDense(std::vector<std::pair<int64_t, int64_t>> extentsAndStrides,
             int64_t features) {
  std::sort(extentsAndStrides.begin(), extentsAndStrides.end(),
            [](const auto &a, const auto &b) { return a.second < b.second; });
  int64_t inner = features;
  for (auto [extent, stride] : extentsAndStrides) {
    if (extent == 1)
      continue;
    if (stride != inner)
      return false;
    inner *= extent;
  }
  return true;
}

using ExtentsAndStrides = std::vector<std::pair<int64_t, int64_t>>;

/// The indices that a tensor of scores has. Along other indices its stride is
/// 0.
ExtentsAndStrides present(const ExtentsAndStrides &all) {
  ExtentsAndStrides list;
  for (auto [extent, stride] : all)
    if (stride != 0)
      list.emplace_back(extent, stride);
  return list;
}

int64_t elementsOf(const ExtentsAndStrides &indices) {
  int64_t elements = 1;
  for (auto [extent, stride] : present(indices))
    elements *= extent;
  return elements;
}

ExtentsAndStrides indicesOf(const AttentionCommand &c,
                            const AttentionLayout &at, int64_t rows) {
  return {{c.batch, at.batch},
          {c.heads, at.head},
          {c.groups, at.group},
          {rows, at.row}};
}

ExtentsAndStrides biasIndices(const AttentionCommand &c) {
  ExtentsAndStrides indices = indicesOf(c, c.bias, c.queries);
  indices.emplace_back(c.keys, c.bias.key);
  return indices;
}

/// An empty tensor may have any layout.
bool scoreLayoutsAreLegal(const AttentionCommand &c) {
  auto isLegal = [](const ExtentsAndStrides &indices) {
    return elementsOf(indices) == 0 || isDense(present(indices), 1);
  };
  return (!c.hasBias || isLegal(biasIndices(c))) &&
         (!c.hasSegments ||
          (isLegal(indicesOf(c, c.querySegments, c.queries)) &&
           isLegal(indicesOf(c, c.keySegments, c.keys)) &&
           c.keySegments.group == 0)) &&
         (!c.hasLengths || (isLegal(indicesOf(c, c.lengths, /*rows=*/1)) &&
                            c.lengths.group == 0 && c.lengths.row == 0));
}

/// An empty tensor may have any layout.
bool attentionLayoutsAreLegal(const AttentionCommand &c) {
  auto isLegal = [&](const AttentionLayout &at, int64_t groups, int64_t rows,
                     int64_t features) {
    return c.batch * c.heads * groups * rows * features == 0 ||
           isDense({{c.batch, at.batch},
                    {c.heads, at.head},
                    {groups, at.group},
                    {rows, at.row}},
                   features);
  };
  return scoreLayoutsAreLegal(c) &&
         isLegal(c.q, c.groups, c.queries, c.features) &&
         isLegal(c.k, 1, c.keys, c.features) &&
         isLegal(c.v, 1, c.keys, c.valueFeatures) &&
         isLegal(c.o, c.groups, c.queries, c.valueFeatures);
}

bool attentionExtentsFit(const AttentionCommand &c) {
  return fits({c.batch, c.heads, c.groups, c.queries, c.features}) &&
         fits({c.batch, c.heads, c.groups, c.queries, c.valueFeatures}) &&
         fits({c.batch, c.heads, c.keys, c.features}) &&
         fits({c.batch, c.heads, c.keys, c.valueFeatures}) &&
         (!c.hasBias || fits({c.batch, c.heads, c.groups, c.queries, c.keys}));
}

bool attentionMaskIsLegal(const AttentionCommand &c) {
  return std::isfinite(c.softcap) && c.softcap >= 0 &&
         (c.causal || c.queryStart.isZero()) &&
         (!c.hidesEarlyKeys() || (c.causal && c.queries <= c.keys)) &&
         (!c.hasLastKeys || (c.causal && c.queries <= c.keys && !c.hasLengths &&
                             c.hidesEarlyKeys() == c.isSliding()));
}

bool isPermutation(const std::vector<int64_t> &list) {
  std::vector<bool> seen(list.size(), false);
  for (int64_t item : list) {
    if (item < 0 || item >= static_cast<int64_t>(list.size()) || seen[item])
      return false;
    seen[item] = true;
  }
  return true;
}

} // namespace

void PartStart::code(ParamCoder &coder) {
  coder.stride(stride);
  coder.extents(shift, offset, batchStride);
  coder.axes(axes);
}

void KernelCommand::code(ParamCoder &coder) {
  coder.extents(grid);
  coder.list(positions, /*width=*/5,
             [&](PartStart &position) { position.code(coder); });
}

static void codeOption(ParamCoder &coder, bool &option) { coder.flag(option); }
static void codeOption(ParamCoder &coder, int64_t &option) {
  coder.extents(option);
}
static void codeOption(ParamCoder &coder, double &option) {
  coder.number(option);
}

int64_t AttentionCommand::statisticType() const {
  return dtype == TPSP_RT_F64 ? TPSP_RT_F64 : TPSP_RT_F32;
}

void AttentionCommand::code(ParamCoder &coder) {
  coder.dtype(dtype);
  coder.extents(batch, heads, groups, queries, keys, features, valueFeatures);
  ScoreOptions::visitAll(
      *this, [&](const char *, auto &option) { codeOption(coder, option); });
  coder.flag(keepsStatistic);
  coder.flag(hasBias);
  coder.flag(hasSegments);
  coder.flag(hasLengths);
  queryStart.code(coder);
  coder.flag(hasLastKeys);
  for (AttentionLayout *at : {&q, &k, &v, &o})
    coder.extents(at->batch, at->head, at->group, at->row);
  if (hasBias)
    coder.extents(bias.batch, bias.head, bias.group, bias.row, bias.key);
  if (hasSegments)
    for (AttentionLayout *at : {&querySegments, &keySegments})
      coder.extents(at->batch, at->head, at->group, at->row);
  if (hasLengths)
    coder.extents(lengths.batch, lengths.head);
}

int64_t AttentionCommand::biasElements() const {
  return elementsOf(biasIndices(*this));
}

bool AttentionCommand::isLegal() const {
  // A row without keys has no weights to normalise.
  return std::isfinite(scale) && !isInteger(dtype) &&
         attentionMaskIsLegal(*this) && (keys > 0 || numRows() == 0) &&
         attentionExtentsFit(*this) && attentionLayoutsAreLegal(*this);
}

/// Adds the bias, the segment numbers and the lengths, if the command has them.
static void addExtras(const AttentionCommand &c, std::vector<BufferUse> &uses) {
  if (c.hasBias)
    uses.push_back({"bias", c.biasElements(), c.dtype});
  auto addIntegers = [&](const char *role, const AttentionLayout &at,
                         int64_t rows) {
    uses.push_back({role, elementsOf(indicesOf(c, at, rows)), TPSP_RT_I32});
  };
  if (c.hasSegments) {
    addIntegers("query_segments", c.querySegments, c.queries);
    addIntegers("key_segments", c.keySegments, c.keys);
  }
  if (c.hasLengths)
    addIntegers("lengths", c.lengths, /*rows=*/1);
}

std::vector<BufferUse> AttentionCommand::buffers(int64_t) const {
  std::vector<BufferUse> uses = {
      {"q", queryElements(), dtype},
      {"k", keyElements(), dtype},
      {"v", valueElements(), dtype},
      {"o", resultElements(), dtype, /*isWritten=*/true}};
  if (keepsStatistic)
    uses.push_back({"statistic", numRows(), statisticType(), true});
  addExtras(*this, uses);
  return uses;
}

void AttentionGradientCommand::code(ParamCoder &coder) {
  AttentionCommand::code(coder);
  coder.flag(wantsBiasGradient);
}

std::vector<BufferUse> AttentionGradientCommand::buffers(int64_t) const {
  std::vector<BufferUse> uses = {
      {"q", queryElements(), dtype},
      {"k", keyElements(), dtype},
      {"v", valueElements(), dtype},
      {"o", resultElements(), dtype},
      {"statistic", numRows(), statisticType()},
      {"go", resultElements(), dtype},
      {"gq", queryElements(), dtype, /*isWritten=*/true},
      {"gk", keyElements(), dtype, /*isWritten=*/true},
      {"gv", valueElements(), dtype, /*isWritten=*/true}};
  addExtras(*this, uses);
  if (wantsBiasGradient)
    uses.push_back({"gbias", biasElements(), dtype, /*isWritten=*/true});
  return uses;
}

/// The buffers of a command that reads one buffer and writes another.
static std::vector<BufferUse> sourceAndTarget(int64_t source, int64_t target,
                                              int64_t dtype) {
  return {{"src", source, dtype}, {"dst", target, dtype, /*isWritten=*/true}};
}

static void append(std::vector<BufferUse> &uses,
                   const std::vector<BufferUse> &more) {
  uses.insert(uses.end(), more.begin(), more.end());
}

void ShardCommand::code(ParamCoder &coder) {
  coder.dtype(dtype);
  coder.reduction(reduction);
  coder.extents(outer, chunk, pitch);
  coder.axes(axes);
  coder.list(others, /*width=*/3, [&](ShardLayout &other) {
    coder.extents(other.outer, other.chunk, other.pitch);
  });
}

bool ShardLayout::isLegal() const {
  return fits({outer, chunk}) && (pitch == 0 || pitch >= chunk) &&
         fits({outer, pitch});
}

bool ShardCommand::isLegal() const {
  return ShardLayout::isLegal() &&
         std::all_of(others.begin(), others.end(),
                     [](const ShardLayout &other) { return other.isLegal(); });
}

/// The buffers of a transfer from whole tensors to their parts or, if it
/// gathers, from parts to whole tensors.
static std::vector<BufferUse> shardBuffers(const ShardCommand &c, int64_t ranks,
                                           bool gathers) {
  std::vector<BufferUse> uses;
  for (size_t i = 0; i < c.numTensors(); ++i) {
    const ShardLayout &t = c.tensor(i);
    int64_t whole = t.outer * t.chunk * ranks, part = t.span();
    append(uses, sourceAndTarget(gathers ? part : whole, gathers ? whole : part,
                                 c.dtype));
  }
  return uses;
}

std::vector<BufferUse> ShardCommand::buffers(int64_t ranks) const {
  return shardBuffers(*this, ranks, /*gathers=*/false);
}

std::vector<BufferUse> AllGatherCommand::buffers(int64_t ranks) const {
  return shardBuffers(*this, ranks, /*gathers=*/true);
}

void AllReduceCommand::code(ParamCoder &coder) {
  coder.dtype(dtype);
  coder.reduction(reduction);
  coder.axes(axes);
  coder.list(counts);
}

std::vector<BufferUse> AllReduceCommand::buffers(int64_t) const {
  std::vector<BufferUse> uses;
  for (int64_t count : counts)
    append(uses, sourceAndTarget(count, count, dtype));
  return uses;
}

void AllToAllCommand::code(ParamCoder &coder) {
  coder.dtype(dtype);
  coder.flag(gatherFirst);
  coder.extents(a, gather, b, scatter, c);
  coder.axes(axes);
}

bool AllToAllCommand::isLegal() const {
  return fits({a, gather, b, scatter, c});
}

std::vector<BufferUse> AllToAllCommand::buffers(int64_t ranks) const {
  int64_t elements = a * gather * b * scatter * c * ranks;
  return sourceAndTarget(elements, elements, dtype);
}

void PermuteCommand::code(ParamCoder &coder) {
  coder.dtype(dtype);
  coder.extents(count, runs, sourcePitch, targetPitch);
  coder.axes(axes);
  coder.list(source);
}

bool PermuteCommand::isLegal() const {
  bool runsAreApart =
      runs <= 1 || (sourcePitch >= count && targetPitch >= count);
  return runsAreApart && fits({runs, count}) && fits({runs, sourcePitch}) &&
         fits({runs, targetPitch}) && isPermutation(source);
}

std::vector<BufferUse> PermuteCommand::buffers(int64_t) const {
  return sourceAndTarget(sourceSpan(), targetSpan(), dtype);
}

void TransferCommand::code(ParamCoder &coder) {
  coder.dtype(dtype);
  coder.axes(axes);
  coder.extents(from, to, count, transfer);
}

std::vector<BufferUse> TransferCommand::buffers(int64_t) const {
  return {{"data", count, dtype}};
}

} // namespace tpsp::rt
