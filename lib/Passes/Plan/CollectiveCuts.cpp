#include "CollectiveCuts.h"

using namespace mlir;
using namespace tpsp;

/// Ranks that take part.
static int64_t groupOf(Operation *collective) {
  auto program = collective->getParentOfType<plan::ProgramOp>();
  int64_t group = 1;
  for (int64_t axis :
       collective->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef())
    group *= program.getSizes()[axis];
  return group;
}

std::optional<CollectiveCut>
tpsp::chooseCut(Operation *collective, const CostModel &cost, int64_t chunks) {
  if (!collective->hasAttr("axes") || groupOf(collective) == 1)
    return std::nullopt;
  if (auto gather = dyn_cast<plan::AllGatherOp>(collective)) {
    if (!gather.isSingle())
      return std::nullopt;
    return chooseGatherCut(gather, groupOf(gather), cost, chunks);
  }
  return chooseReductionCut(collective, cost, chunks);
}

void tpsp::applyCut(Operation *collective, const CollectiveCut &cut,
                    int64_t whole) {
  if (auto gather = dyn_cast<plan::AllGatherOp>(collective))
    return applyGatherCut(gather, groupOf(gather), cut, whole);
  applyReductionCut(collective, cut, whole);
}
