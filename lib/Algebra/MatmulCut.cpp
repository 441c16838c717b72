#include "tpsp/Algebra/MatmulCut.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;

namespace {

/// A stride of a form, with the extent that it strides over.
struct StrideRef {
  int64_t *extent;
  int64_t *stride;
};

/// The strides of a tensor that a form has as numbers: leading dimensions and
/// loops. The unit stride of a matrix's inner dimension is implicit.
llvm::SmallVector<StrideRef, 8> statedStrides(MatmulForm &form,
                                              MatmulTensor tensor) {
  llvm::SmallVector<StrideRef, 8> refs;
  auto strideOf = [&](rt::MatmulLoop &loop) -> int64_t & {
    return tensor == MatmulTensor::A   ? loop.strideA
           : tensor == MatmulTensor::B ? loop.strideB
                                       : loop.strideC;
  };
  for (auto *loops : {&form.batch, &form.accumulate})
    for (rt::MatmulLoop &loop : *loops)
      refs.push_back({&loop.extent, &strideOf(loop)});
  switch (tensor) {
  case MatmulTensor::A:
    refs.push_back({form.transposeA ? &form.k : &form.m, &form.lda});
    break;
  case MatmulTensor::B:
    refs.push_back({form.transposeB ? &form.n : &form.k, &form.ldb});
    break;
  case MatmulTensor::C:
    refs.push_back({&form.m, &form.ldc});
    break;
  }
  return refs;
}

/// A loop of the product, with its stride in each tensor (0 where absent).
struct ProductLoop {
  int64_t *extent;
  std::array<int64_t, 3> strides;
  bool isSummed;
};

llvm::SmallVector<ProductLoop, 8> loopsOf(MatmulForm &form) {
  llvm::SmallVector<ProductLoop, 8> loops;
  loops.push_back(
      {&form.m, {form.transposeA ? 1 : form.lda, 0, form.ldc}, false});
  loops.push_back({&form.n, {0, form.transposeB ? form.ldb : 1, 1}, false});
  loops.push_back(
      {&form.k,
       {form.transposeA ? form.lda : 1, form.transposeB ? 1 : form.ldb, 0},
       true});
  for (rt::MatmulLoop &loop : form.batch)
    loops.push_back(
        {&loop.extent, {loop.strideA, loop.strideB, loop.strideC}, false});
  for (rt::MatmulLoop &loop : form.accumulate)
    loops.push_back({&loop.extent, {loop.strideA, loop.strideB, 0}, true});
  return loops;
}

} // namespace

std::optional<MatmulCut> tpsp::cutMatmul(const MatmulForm &form,
                                         MatmulTensor tensor, Tiling tiling) {
  MatmulCut cut;
  cut.form = form;
  size_t which = size_t(tensor);
  int64_t period = tiling.tiles * tiling.chunk;
  ProductLoop *found = nullptr;
  auto loops = loopsOf(cut.form);
  // Every loop stays inside a run of the tile, or steps from period to period.
  // One loop runs over the tiles.
  for (ProductLoop &loop : loops) {
    int64_t stride = loop.strides[which], extent = *loop.extent;
    if (stride == 0 || extent == 1)
      continue;
    bool isInside = stride * extent <= tiling.chunk;
    bool isOutside = stride % period == 0;
    if (isInside || isOutside)
      continue;
    if (found || loop.isSummed || tiling.chunk % stride != 0 ||
        (stride * extent) % period != 0)
      return std::nullopt;
    found = &loop;
  }
  if (!found)
    return std::nullopt;

  int64_t inner = tiling.chunk / found->strides[which];
  int64_t outer = *found->extent / (inner * tiling.tiles);
  *found->extent = inner;
  for (size_t other = 0; other < 3; ++other)
    if (int64_t stride = found->strides[other])
      cut.tilings[other] = Tiling{tiling.tiles, inner * stride};
  if (outer > 1) {
    int64_t step = inner * tiling.tiles;
    cut.form.batch.insert(cut.form.batch.begin(),
                          {outer, found->strides[0] * step,
                           found->strides[1] * step, found->strides[2] * step});
  }
  return cut;
}

void MatmulCut::compact(MatmulTensor tensor) {
  std::optional<Tiling> &tiling = tilings[size_t(tensor)];
  int64_t period = tiling->tiles * tiling->chunk;
  for (StrideRef ref : statedStrides(form, tensor))
    if (*ref.stride % period == 0)
      *ref.stride /= tiling->tiles;
  tiling.reset();
}
