#include "tpsp/Algebra/MatmulEpilogue.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;

/// Loops of more than one step.
static llvm::SmallVector<rt::MatmulLoop, 4>
runningLoops(llvm::ArrayRef<rt::MatmulLoop> loops) {
  return llvm::to_vector<4>(llvm::make_filter_range(
      loops, [](const rt::MatmulLoop &loop) { return loop.extent != 1; }));
}

bool tpsp::isAligned(const MatmulForm &form, int64_t elements) {
  if (form.m > 1 && form.ldc % elements != 0)
    return false;
  return llvm::all_of(
      runningLoops(form.batch),
      [&](const rt::MatmulLoop &loop) { return loop.strideC % elements == 0; });
}

bool tpsp::columnIsOffset(const MatmulForm &form) {
  return isAligned(form, form.n);
}

bool tpsp::sumIsByOffset(const MatmulForm &form, MatmulTensor operand,
                         int64_t elements) {
  if (!runningLoops(form.batch).empty() ||
      !runningLoops(form.accumulate).empty() || operand == MatmulTensor::C)
    return false;
  bool isA = operand == MatmulTensor::A;
  int64_t kept = isA ? form.m : form.n, ld = isA ? form.lda : form.ldb;
  if (elements != kept * form.k)
    return false;
  // If the vector has a single element, all elements of the operand are summed
  // into it.
  if (kept == 1)
    return true;
  bool keptIsInner = isA ? form.transposeA : !form.transposeB;
  return form.k == 1 || (keptIsInner && ld == kept);
}

/// The cut of a vector along one of the product's extents, which is `whole` for
/// the product and `tile` for a tile. If the cut index has a part outside the
/// tiles, that part has become a loop.
static std::optional<VectorCut> cutVector(const MatmulForm &form,
                                          const MatmulForm &tile, int64_t whole,
                                          int64_t part) {
  if (whole == part)
    return VectorCut();
  if (tile.batch.size() != form.batch.size() || part == 0 || whole % part != 0)
    return std::nullopt;
  return VectorCut{Tiling{whole / part, part}};
}

std::optional<VectorCut> tpsp::cutColumns(const MatmulForm &form,
                                          const MatmulForm &tile) {
  return cutVector(form, tile, form.n, tile.n);
}

std::optional<VectorCut> tpsp::cutRows(const MatmulForm &form,
                                       const MatmulForm &tile) {
  return cutVector(form, tile, form.m, tile.m);
}
