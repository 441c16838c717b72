#include "CollectiveCuts.h"

using namespace mlir;
using namespace tpsp;

/// The number of ranks that take part.
static int64_t groupOf(plan::CommandOpInterface collective) {
  auto program = collective->getParentOfType<plan::ProgramOp>();
  int64_t group = 1;
  for (int64_t axis : collective.getCollectiveAxes())
    group *= program.getSizes()[axis];
  return group;
}

std::optional<CollectiveCut>
tpsp::chooseCut(Operation *collective, const CostModel &cost, int64_t chunks) {
  auto command = cast<plan::CommandOpInterface>(collective);
  if (!command.getCollectiveKind() || groupOf(command) == 1)
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
