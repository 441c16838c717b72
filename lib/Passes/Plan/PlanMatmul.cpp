#include "PlanMatmul.h"

#include "CommandEmission.h"

#include "tpsp/Schedule/CostModel.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The work of a step for each result (ScalarFunctions.cpp). A division counts
/// as four operations (KernelWork.cpp).
static EpilogueWork perResult(rt::EpilogueStep step) {
  switch (step) {
  case rt::EpilogueStep::Bias:
    return {1, 0, 0, 0};
  case rt::EpilogueStep::Gelu:
    return {12, 1, 0, 0};
  case rt::EpilogueStep::Slope:
    return {21, 1, 0, 0};
  default:
    return {};
  }
}

/// The work of an epilogue of these steps in a product whose elements have
/// `elementBytes`.
static EpilogueWork epilogueWork(const MatmulWork &product,
                                 ArrayRef<rt::EpilogueStep> steps,
                                 int64_t elementBytes) {
  EpilogueWork work;
  double results =
             double(product.m) * double(product.n) * double(product.batch),
         width = double(elementBytes);
  for (rt::EpilogueStep step : steps) {
    EpilogueWork each = perResult(step);
    work.operations += results * each.operations;
    work.transcendentals += results * each.transcendentals;
    if (step == rt::EpilogueStep::Add) {
      work += additionWork(product, elementBytes);
      continue;
    }
    bool ofA = step == rt::EpilogueStep::SumA;
    if (ofA || step == rt::EpilogueStep::SumB) {
      double kept = double(ofA ? product.m : product.n);
      work.operations += kept * double(product.k);
      work.elementBytes += kept * double(product.k) * width;
      work.bytes += kept * width;
      continue;
    }
    if (rt::hasBuffer(step)) {
      work.elementBytes += results * width;
      work.bytes += (rt::hasMatrix(step) ? results : double(product.n)) * width;
    }
  }
  bool touchesResults = !steps.empty() && !rt::writesBuffer(steps[0]) &&
                        steps[0] != rt::EpilogueStep::Add;
  if (touchesResults || steps.size() > 1)
    work.elementBytes += 2 * results * width;
  return work;
}

/// MatmulWork::alignment for elements of `elementBytes`. A matrix of one column
/// counts as a row.
static int64_t alignmentOf(const MatmulForm &form, int64_t elementBytes) {
  constexpr uint64_t widest = 16;
  uint64_t all = 0;
  for (int64_t pitch : {form.lda, form.ldb, form.ldc})
    all |= pitch > 1 ? uint64_t(pitch) : 0;
  for (const auto *loops : {&form.batch, &form.accumulate})
    for (const rt::MatmulLoop &loop : *loops)
      all |= loop.extent == 1
                 ? 0
                 : uint64_t(loop.strideA) | uint64_t(loop.strideB) |
                       uint64_t(loop.strideC);
  all = all * uint64_t(elementBytes) | widest;
  return int64_t(all & (~all + 1));
}

/// The work of the product without its epilogue.
static MatmulWork productWork(const MatmulForm &form, int64_t elementBytes) {
  MatmulWork work{form.m, form.n,          form.k,         1,
                  1,      form.transposeA, form.transposeB};
  work.alignment = alignmentOf(form, elementBytes);
  for (const rt::MatmulLoop &loop : form.batch)
    work.batch *= loop.extent;
  for (const rt::MatmulLoop &loop : form.accumulate)
    work.steps *= loop.extent;
  return work;
}

MatmulWork tpsp::matmulWork(const rt::GroupedMatmulForm &form,
                            int64_t elementBytes) {
  MatmulWork work = productWork(form, elementBytes);
  int64_t &rows = form.sumsRows ? work.k : work.m;
  int64_t each = std::max<int64_t>(1, rows / std::max<int64_t>(1, form.groups));
  work.batch *= (rows + each - 1) / each;
  rows = each;
  return work;
}

MatmulWork tpsp::matmulWork(plan::MatmulOp op, const MatmulForm &form) {
  auto type = cast<MemRefType>(op.getA().getType());
  int64_t elementBytes = type.getElementTypeBitWidth() / 8;
  MatmulWork work = productWork(form, elementBytes);
  work.epilogue = epilogueWork(work, plan::epilogueOf(op), elementBytes);
  return work;
}

MatmulWork tpsp::matmulWork(plan::MatmulOp op) {
  return matmulWork(op, plan::formOf(op));
}

MatmulWork tpsp::matmulWork(const PlannedMatmul &matmul) {
  int64_t elementBytes = typeOf(matmul.a).getElementTypeBitWidth() / 8;
  MatmulWork work = productWork(matmul.form, elementBytes);
  work.epilogue = epilogueWork(work, matmul.epilogue, elementBytes);
  return work;
}

static SmallVector<int64_t> flat(ArrayRef<rt::MatmulLoop> loops) {
  SmallVector<int64_t> numbers;
  for (const rt::MatmulLoop &loop : loops)
    numbers.append({loop.extent, loop.strideA, loop.strideB, loop.strideC});
  return numbers;
}

plan::MatmulOp tpsp::createMatmul(OpBuilder &b, Location loc,
                                  const MatmulBuffers &buffers,
                                  const MatmulForm &form,
                                  ArrayRef<rt::EpilogueStep> epilogue) {
  return plan::MatmulOp::create(
      b, loc, buffers.a, buffers.b, buffers.c, buffers.reads, buffers.writes,
      b.getDenseI64ArrayAttr({form.m, form.n, form.k}),
      b.getDenseI64ArrayAttr({form.lda, form.ldb, form.ldc}),
      form.transposeA ? b.getUnitAttr() : UnitAttr(),
      form.transposeB ? b.getUnitAttr() : UnitAttr(),
      b.getDenseI64ArrayAttr(flat(form.batch)),
      b.getDenseI64ArrayAttr(flat(form.accumulate)), b.getI64IntegerAttr(0),
      plan::epilogueAttr(b, epilogue));
}

/// Null if this rank has all matrices.
static DenseI64ArrayAttr firstGroupOf(ProgramBuilder &to,
                                      const PlannedGroupedMatmul &matmul) {
  IdxAttr idx = getIdx(matmul.matrices);
  unsigned dim = *idx.dimOf(matmul.chosen);
  if (idx.getAxes()[dim].empty())
    return {};
  return startOfPart(to, matmul.form.groups, idx.getAxes()[dim]);
}

void tpsp::emitGroupedMatmul(ProgramBuilder &to,
                             const PlannedCommand &command) {
  const PlannedGroupedMatmul &matmul = *command.groupedMatmul;
  const GroupedMatmulForm &form = matmul.form;
  OpBuilder &b = to.b;
  Value a = to.buffers.of(matmul.a), factor = to.buffers.of(matmul.b),
        ids = to.buffers.of(matmul.ids);
  Value c = to.buffers.define(matmul.c);
  auto flag = [&](bool value) { return value ? b.getUnitAttr() : UnitAttr(); };
  plan::GroupedMatmulOp::create(
      b, command.op->getLoc(), a, factor, ids, c,
      b.getDenseI64ArrayAttr({form.m, form.n, form.k}),
      b.getDenseI64ArrayAttr({form.lda, form.ldb, form.ldc}),
      flag(form.transposeA), flag(form.transposeB),
      b.getDenseI64ArrayAttr(flat(form.batch)),
      b.getDenseI64ArrayAttr(flat(form.accumulate)), flag(form.sumsRows),
      b.getI64IntegerAttr(form.groups), b.getI64IntegerAttr(form.groupStride),
      b.getDenseI64ArrayAttr(form.idStrides), b.getI64IntegerAttr(0),
      firstGroupOf(to, matmul));
}

void tpsp::emitMatmul(ProgramBuilder &to, const PlannedCommand &command) {
  const PlannedMatmul &matmul = *command.matmul;
  MatmulBuffers buffers;
  buffers.a = to.buffers.of(matmul.a);
  buffers.b = to.buffers.of(matmul.b);
  buffers.reads = to.buffers.of(matmul.reads);
  for (Value written : matmul.writes)
    buffers.writes.push_back(to.buffers.define(written));
  buffers.c = to.buffers.define(matmul.c);
  createMatmul(to.b, command.op->getLoc(), buffers, matmul.form,
               matmul.epilogue);
}
