// Products: plain and grouped.
#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/Commands.h"
#include "tpsp/Abi/ElementType.h"

#include <algorithm>

namespace tpsp::rt {
namespace {

void codeLoops(ParamCoder &coder, std::vector<MatmulLoop> &loops) {
  coder.list(loops, /*width=*/4, [&](MatmulLoop &loop) {
    coder.extents(loop.extent, loop.strideA, loop.strideB, loop.strideC);
  });
}

void codeForm(ParamCoder &coder, MatmulForm &form) {
  coder.extents(form.m, form.n, form.k, form.lda, form.ldb, form.ldc);
  coder.flag(form.transposeA);
  coder.flag(form.transposeB);
  codeLoops(coder, form.batch);
  codeLoops(coder, form.accumulate);
}

/// Rows may not overlap. The leading dimension of a single row does not matter.
bool leadingDimensionFits(int64_t rows, int64_t columns, int64_t ld) {
  return rows <= 1 || ld >= columns;
}

bool matmulLayoutIsLegal(const MatmulForm &c) {
  int64_t rowsA = c.transposeA ? c.k : c.m, columnsA = c.transposeA ? c.m : c.k;
  int64_t rowsB = c.transposeB ? c.n : c.k, columnsB = c.transposeB ? c.k : c.n;
  return leadingDimensionFits(rowsA, columnsA, c.lda) &&
         leadingDimensionFits(rowsB, columnsB, c.ldb) &&
         leadingDimensionFits(c.m, c.n, c.ldc);
}

/// Points of the batch write different parts of C; steps of the accumulation
/// write the same part.
bool matmulLoopsAreLegal(const MatmulForm &c) {
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

/// Elements from the first to one past the last that the matmul touches of each
/// operand; 0 if it touches none.
struct MatmulSpans {
  int64_t a = 0, b = 0, c = 0;
};

/// Computes the spans; false if one is larger than a buffer may be.
bool spansOf(const MatmulForm &c, MatmulSpans &out) {
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

/// Computes the spans of a grouped product and of its integers.
bool spansOf(const GroupedMatmulForm &c, MatmulSpans &out, int64_t &ids) {
  if (!spansOf(static_cast<const MatmulForm &>(c), out))
    return false;
  int64_t &chosen = c.sumsRows ? out.c : out.b;
  if (c.groups == 0 && !c.sumsRows)
    out.a = out.b = 0;
  if (c.groups == 0)
    chosen = 0;
  else if (chosen > 0 &&
           !checkedAddProduct(chosen, c.groups - 1, c.groupStride))
    return false;
  int64_t last = c.rows() - 1;
  bool isEmpty = c.rows() == 0;
  const int64_t *stride = c.idStrides.data();
  for (const auto *loops : {&c.batch, &c.accumulate})
    for (const MatmulLoop &loop : *loops) {
      isEmpty |= loop.extent == 0;
      if (!checkedAddProduct(last, loop.extent - 1, *stride++))
        return false;
    }
  ids = isEmpty ? 0 : last + 1;
  return std::max(chosen, ids) <= maxElements;
}

bool isSingle(const std::vector<MatmulLoop> &loops) {
  for (const MatmulLoop &loop : loops)
    if (loop.extent != 1)
      return false;
  return true;
}

/// An epilogue that sums an operand needs one point and one step, so that the
/// sum runs over one k.
bool matmulEpilogueIsLegal(const MatmulCommand &c) {
  if (!isEpilogue(c.epilogue))
    return false;
  bool sums = !c.epilogue.empty() && (c.epilogue[0] == EpilogueStep::SumA ||
                                      c.epilogue[0] == EpilogueStep::SumB);
  return !sums || (isSingle(c.batch) && isSingle(c.accumulate));
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
      {Step::SumB},
      {Step::Add}};
  return std::find(std::begin(lists), std::end(lists), steps) !=
         std::end(lists);
}

bool MatmulCommand::adds() const {
  return !epilogue.empty() && epilogue.front() == EpilogueStep::Add;
}

int64_t MatmulCommand::resultType() const {
  if (!adds())
    return dtype;
  return dtype == TPSP_RT_F64 ? TPSP_RT_F64 : TPSP_RT_F32;
}

void MatmulCommand::code(ParamCoder &coder) {
  coder.dtype(dtype);
  codeForm(coder, *this);
  coder.list(epilogue, /*width=*/1, [&](EpilogueStep &step) {
    auto number = static_cast<int64_t>(step);
    coder.integer(number, 0, numEpilogueSteps - 1);
    step = static_cast<EpilogueStep>(number);
  });
}

bool MatmulCommand::isLegal() const {
  MatmulSpans spans;
  return matmulLayoutIsLegal(*this) && matmulLoopsAreLegal(*this) &&
         matmulEpilogueIsLegal(*this) && spansOf(*this, spans);
}

std::vector<BufferUse> MatmulCommand::buffers(int64_t) const {
  MatmulSpans spans;
  (void)spansOf(*this, spans);
  std::vector<BufferUse> uses = {
      {"A", spans.a, dtype},
      {"B", spans.b, dtype},
      {"C", spans.c, resultType(), /*isWritten=*/true}};
  for (EpilogueStep step : epilogue) {
    int64_t elements = step == EpilogueStep::SumA ? m : n;
    if (hasMatrix(step) || spans.c == 0)
      elements = spans.c;
    if (hasBuffer(step))
      uses.push_back(
          {nameOf(step), elements, resultType(), writesBuffer(step)});
  }
  return uses;
}

void GroupedMatmulCommand::code(ParamCoder &coder) {
  coder.dtype(dtype);
  codeForm(coder, *this);
  coder.flag(sumsRows);
  coder.extents(groups, groupStride);
  coder.list(idStrides, /*width=*/1,
             [&](int64_t &stride) { coder.extents(stride); });
  firstGroup.code(coder);
}

bool GroupedMatmulCommand::isLegal() const {
  MatmulSpans spans;
  int64_t ids = 0;
  bool apart = !sumsRows || groups <= 1 || groupStride > 0;
  return !isInteger(dtype) && apart &&
         idStrides.size() == batch.size() + accumulate.size() &&
         matmulLayoutIsLegal(*this) && matmulLoopsAreLegal(*this) &&
         spansOf(*this, spans, ids);
}

std::vector<BufferUse> GroupedMatmulCommand::buffers(int64_t) const {
  MatmulSpans spans;
  int64_t ids = 0;
  (void)spansOf(*this, spans, ids);
  return {{"A", spans.a, dtype},
          {"B", spans.b, dtype},
          {"ids", ids, TPSP_RT_I32},
          {"C", spans.c, dtype, /*isWritten=*/true}};
}

} // namespace tpsp::rt
