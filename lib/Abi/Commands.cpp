#include "tpsp/Abi/Commands.h"

#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/MatmulSpan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tpsp::rt {
namespace {

/// No buffer is larger: leaves room for the group's size and the element's
/// bytes, so that sizes can be multiplied by them without care.
constexpr int64_t maxElements = int64_t(1) << 44;

/// More of anything in a list is a corrupt array, not a plan.
constexpr int64_t maxListLength = int64_t(1) << 20;

bool fits(std::initializer_list<int64_t> factors) {
  int64_t product;
  // A zero factor must not hide an overflow of the others: strides and sizes
  // are computed from sub-products too.
  int64_t nonZero = 1;
  for (int64_t factor : factors)
    if (factor != 0 &&
        (!checkedProduct({nonZero, factor}, nonZero) || nonZero > maxElements))
      return false;
  return checkedProduct(factors, product);
}

void append(Params &params, const std::vector<int64_t> &list) {
  params.push_back(static_cast<int64_t>(list.size()));
  params.insert(params.end(), list.begin(), list.end());
}

/// Reads integers from the front of an array. After the first that is missing
/// or out of range, everything reads as 0 and done() is false.
class ParamReader {
public:
  ParamReader(const int64_t *params, int64_t count)
      : next(params), left(params ? count : 0), good(count >= 0) {}

  int64_t inRange(int64_t low, int64_t high) {
    if (!good || left <= 0 || *next < low || *next > high) {
      good = false;
      return 0;
    }
    --left;
    return *next++;
  }

  int64_t extent() { return inRange(0, maxElements); }
  int64_t dtype() {
    int64_t value = inRange(0, INT8_MAX);
    good = good && elementBytes(value) != 0;
    return good ? value : 0;
  }
  int64_t reduction() { return inRange(TPSP_RT_SUM, TPSP_RT_MAX); }
  bool flag() { return inRange(0, 1) == 1; }

  /// The length of a list whose items take `width` integers each.
  int64_t listLength(int64_t width) {
    return inRange(0, std::min(maxListLength, (left - 1) / width));
  }

  std::vector<int64_t> extents() {
    std::vector<int64_t> list(listLength(1));
    for (int64_t &item : list)
      item = extent();
    return list;
  }

  /// Mesh axes: each at most once.
  std::vector<int64_t> axes() {
    std::vector<int64_t> list = extents();
    std::vector<int64_t> sorted = list;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      good = false;
    return list;
  }

  void require(bool condition) { good = good && condition; }

  /// Everything was in range and nothing is left over.
  bool done() const { return good && left == 0; }

private:
  const int64_t *next;
  int64_t left;
  bool good;
};

void append(Params &params, const std::vector<MatmulLoop> &loops) {
  params.push_back(static_cast<int64_t>(loops.size()));
  for (const MatmulLoop &loop : loops)
    params.insert(params.end(),
                  {loop.extent, loop.strideA, loop.strideB, loop.strideC});
}

std::vector<MatmulLoop> readLoops(ParamReader &reader) {
  std::vector<MatmulLoop> loops(reader.listLength(4));
  for (MatmulLoop &loop : loops) {
    loop.extent = reader.extent();
    loop.strideA = reader.extent();
    loop.strideB = reader.extent();
    loop.strideC = reader.extent();
  }
  return loops;
}

std::vector<EpilogueStep> readEpilogue(ParamReader &reader) {
  std::vector<EpilogueStep> steps(reader.listLength(1));
  for (EpilogueStep &step : steps)
    step = static_cast<EpilogueStep>(reader.inRange(0, numEpilogueSteps - 1));
  return steps;
}

/// Rows may not overlap; a single row's leading dimension says nothing.
bool leadingDimensionFits(int64_t rows, int64_t columns, int64_t ld) {
  return rows <= 1 || ld >= columns;
}

bool matmulLayoutIsLegal(const MatmulCommand &c) {
  int64_t rowsA = c.transposeA ? c.k : c.m, columnsA = c.transposeA ? c.m : c.k;
  int64_t rowsB = c.transposeB ? c.n : c.k, columnsB = c.transposeB ? c.k : c.n;
  return leadingDimensionFits(rowsA, columnsA, c.lda) &&
         leadingDimensionFits(rowsB, columnsB, c.ldb) &&
         leadingDimensionFits(c.m, c.n, c.ldc);
}

/// Points of the batch write different C, steps of the accumulation the same.
bool matmulLoopsAreLegal(const MatmulCommand &c) {
  int64_t points = 1;
  for (const MatmulLoop &loop : c.batch)
    if ((loop.extent > 1 && loop.strideC == 0) ||
        !checkedProduct({points, loop.extent}, points))
      return false;
  for (const MatmulLoop &loop : c.accumulate)
    if (loop.strideC != 0 || !checkedProduct({points, loop.extent}, points))
      return false;
  return true;
}

bool isSingle(const std::vector<MatmulLoop> &loops) {
  for (const MatmulLoop &loop : loops)
    if (loop.extent != 1)
      return false;
  return true;
}

/// A sum of an operand is over one k.
bool matmulEpilogueIsLegal(const MatmulCommand &c) {
  if (!isEpilogue(c.epilogue))
    return false;
  bool sums = !c.epilogue.empty() && (c.epilogue[0] == EpilogueStep::SumA ||
                                      c.epilogue[0] == EpilogueStep::SumB);
  return !sums || (isSingle(c.batch) && isSingle(c.accumulate));
}

/// Whether a tensor of these extents and strides, and of `features` innermost,
/// is dense. Strides of extents of 1 say nothing.
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

/// (An empty tensor may be laid out anyhow.)
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
  return isLegal(c.q, c.groups, c.queries, c.features) &&
         isLegal(c.k, 1, c.keys, c.features) &&
         isLegal(c.v, 1, c.keys, c.valueFeatures) &&
         isLegal(c.o, c.groups, c.queries, c.valueFeatures);
}

bool attentionExtentsFit(const AttentionCommand &c) {
  return fits({c.batch, c.heads, c.groups, c.queries, c.features}) &&
         fits({c.batch, c.heads, c.groups, c.queries, c.valueFeatures}) &&
         fits({c.batch, c.heads, c.keys, c.features}) &&
         fits({c.batch, c.heads, c.keys, c.valueFeatures});
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

bool isEpilogue(const std::vector<EpilogueStep> &steps) {
  using Step = EpilogueStep;
  static const std::vector<Step> lists[] = {
      {},
      {Step::Bias},
      {Step::Gelu},
      {Step::Bias, Step::Gelu},
      {Step::Keep, Step::Gelu},
      {Step::Bias, Step::Keep, Step::Gelu},
      {Step::Slope},
      {Step::SumA},
      {Step::SumB}};
  return std::find(std::begin(lists), std::end(lists), steps) !=
         std::end(lists);
}

bool matmulSpans(const MatmulCommand &c, MatmulSpans &out) {
  out = {};
  int64_t rowsA = c.transposeA ? c.k : c.m, columnsA = c.transposeA ? c.m : c.k;
  int64_t rowsB = c.transposeB ? c.n : c.k, columnsB = c.transposeB ? c.k : c.n;
  // The last element of each, then the strides of the loops' last steps.
  MatmulSpans last{columnsA - 1, columnsB - 1, c.n - 1};
  bool fit = checkedAddProduct(last.a, rowsA - 1, c.lda) &&
             checkedAddProduct(last.b, rowsB - 1, c.ldb) &&
             checkedAddProduct(last.c, c.m - 1, c.ldc);
  bool noPoint = c.m == 0 || c.n == 0, noStep = c.k == 0;
  for (const auto *loops : {&c.batch, &c.accumulate})
    for (const MatmulLoop &loop : *loops) {
      (loops == &c.batch ? noPoint : noStep) |= loop.extent == 0;
      fit = fit && checkedAddProduct(last.a, loop.extent - 1, loop.strideA) &&
            checkedAddProduct(last.b, loop.extent - 1, loop.strideB) &&
            checkedAddProduct(last.c, loop.extent - 1, loop.strideC);
    }
  if (!fit || std::max({last.a, last.b, last.c}) >= maxElements)
    return false;
  if (!noPoint)
    out.c = last.c + 1;
  if (!noPoint && !noStep)
    out.a = last.a + 1, out.b = last.b + 1;
  return true;
}

Params MatmulCommand::encode() const {
  Params params = {dtype, m, n, k, lda, ldb, ldc, transposeA, transposeB};
  append(params, batch);
  append(params, accumulate);
  params.push_back(static_cast<int64_t>(epilogue.size()));
  for (EpilogueStep step : epilogue)
    params.push_back(static_cast<int64_t>(step));
  return params;
}

bool MatmulCommand::decode(const int64_t *params, int64_t count,
                           MatmulCommand &out) {
  ParamReader reader(params, count);
  out.dtype = reader.dtype();
  for (int64_t *field : {&out.m, &out.n, &out.k, &out.lda, &out.ldb, &out.ldc})
    *field = reader.extent();
  out.transposeA = reader.flag();
  out.transposeB = reader.flag();
  out.batch = readLoops(reader);
  out.accumulate = readLoops(reader);
  out.epilogue = readEpilogue(reader);
  MatmulSpans spans;
  return reader.done() && matmulLayoutIsLegal(out) &&
         matmulLoopsAreLegal(out) && matmulEpilogueIsLegal(out) &&
         matmulSpans(out, spans);
}

Params KernelCommand::encode() const {
  Params params = {grid, static_cast<int64_t>(positions.size())};
  for (const KernelPosition &position : positions) {
    params.push_back(position.extent);
    params.push_back(position.shift);
    params.push_back(position.offset);
    append(params, position.axes);
  }
  return params;
}

bool KernelCommand::decode(const int64_t *params, int64_t count,
                           KernelCommand &out) {
  ParamReader reader(params, count);
  out.grid = reader.extent();
  out.positions.assign(reader.listLength(4), {});
  for (KernelPosition &position : out.positions) {
    position.extent = reader.extent();
    position.shift = reader.extent();
    position.offset = reader.extent();
    position.axes = reader.axes();
  }
  return reader.done();
}

int64_t AttentionCommand::statisticType() const {
  return dtype == TPSP_RT_F64 ? TPSP_RT_F64 : TPSP_RT_F32;
}

Params AttentionCommand::encode() const {
  int64_t scaleBits;
  std::memcpy(&scaleBits, &scale, sizeof scaleBits);
  Params params = {dtype,     batch,  heads,         groups,
                   queries,   keys,   features,      valueFeatures,
                   scaleBits, causal, keepsStatistic};
  for (const AttentionLayout *at : {&q, &k, &v, &o})
    params.insert(params.end(), {at->batch, at->head, at->group, at->row});
  return params;
}

bool AttentionCommand::decode(const int64_t *params, int64_t count,
                              AttentionCommand &out) {
  ParamReader reader(params, count);
  out.dtype = reader.dtype();
  for (int64_t *field : {&out.batch, &out.heads, &out.groups, &out.queries,
                         &out.keys, &out.features, &out.valueFeatures})
    *field = reader.extent();
  int64_t scaleBits = reader.inRange(INT64_MIN, INT64_MAX);
  std::memcpy(&out.scale, &scaleBits, sizeof scaleBits);
  out.causal = reader.flag();
  out.keepsStatistic = reader.flag();
  for (AttentionLayout *at : {&out.q, &out.k, &out.v, &out.o})
    for (int64_t *field : {&at->batch, &at->head, &at->group, &at->row})
      *field = reader.extent();
  // A row without keys has no weights to normalise.
  return reader.done() && std::isfinite(out.scale) && !isInteger(out.dtype) &&
         (out.keys > 0 || out.numRows() == 0) && attentionExtentsFit(out) &&
         attentionLayoutsAreLegal(out);
}

Params ShardCommand::encode() const {
  Params params = {dtype, reduction, outer, chunk, pitch};
  append(params, axes);
  return params;
}

bool ShardCommand::decode(const int64_t *params, int64_t count,
                          ShardCommand &out) {
  ParamReader reader(params, count);
  out.dtype = reader.dtype();
  out.reduction = reader.reduction();
  out.outer = reader.extent();
  out.chunk = reader.extent();
  out.pitch = reader.extent();
  out.axes = reader.axes();
  return reader.done() && fits({out.outer, out.chunk}) &&
         (out.pitch == 0 || out.pitch >= out.chunk) &&
         fits({out.outer, out.pitch});
}

Params AllReduceCommand::encode() const {
  Params params = {dtype, reduction};
  append(params, axes);
  append(params, counts);
  return params;
}

bool AllReduceCommand::decode(const int64_t *params, int64_t count,
                              AllReduceCommand &out) {
  ParamReader reader(params, count);
  out.dtype = reader.dtype();
  out.reduction = reader.reduction();
  out.axes = reader.axes();
  out.counts = reader.extents();
  reader.require(!out.counts.empty());
  return reader.done();
}

Params AllToAllCommand::encode() const {
  Params params = {dtype, gatherFirst, a, gather, b, scatter, c};
  append(params, axes);
  return params;
}

bool AllToAllCommand::decode(const int64_t *params, int64_t count,
                             AllToAllCommand &out) {
  ParamReader reader(params, count);
  out.dtype = reader.dtype();
  out.gatherFirst = reader.flag();
  for (int64_t *field : {&out.a, &out.gather, &out.b, &out.scatter, &out.c})
    *field = reader.extent();
  out.axes = reader.axes();
  return reader.done() && fits({out.a, out.gather, out.b, out.scatter, out.c});
}

Params PermuteCommand::encode() const {
  Params params = {dtype, count, runs, sourcePitch, targetPitch};
  append(params, axes);
  append(params, source);
  return params;
}

bool PermuteCommand::decode(const int64_t *params, int64_t count,
                            PermuteCommand &out) {
  ParamReader reader(params, count);
  out.dtype = reader.dtype();
  out.count = reader.extent();
  out.runs = reader.extent();
  out.sourcePitch = reader.extent();
  out.targetPitch = reader.extent();
  out.axes = reader.axes();
  out.source = reader.extents();
  bool runsAreApart = out.runs <= 1 || (out.sourcePitch >= out.count &&
                                        out.targetPitch >= out.count);
  return reader.done() && runsAreApart && fits({out.runs, out.count}) &&
         fits({out.runs, out.sourcePitch}) &&
         fits({out.runs, out.targetPitch}) && isPermutation(out.source);
}

Params EventCommand::encode() const { return {event}; }

bool EventCommand::decode(const int64_t *params, int64_t count,
                          EventCommand &out) {
  ParamReader reader(params, count);
  out.event = reader.extent();
  return reader.done();
}

} // namespace tpsp::rt
