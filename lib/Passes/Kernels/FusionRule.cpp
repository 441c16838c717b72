#include "FusionRule.h"

#include "Kernels.h"
#include "Passes/Program/AdjointMark.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/Origin.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tpsp;

FusionKind tpsp::fusionNamed(StringRef word) {
  return llvm::StringSwitch<FusionKind>(word)
      .Case("pointwise", FusionKind::Pointwise)
      .Case("operations", FusionKind::Operations)
      .Case("none", FusionKind::None)
      .Default(FusionKind::All);
}

FusionRule::Source FusionRule::sourceOf(Operation *op) {
  Location loc = op->getLoc();
  // Parts of a composite have marks of their own, around one location.
  if (std::optional<AdjointMark> mark = adjointMark(loc))
    loc = cast<FusedLoc>(mark->location).getLocations().front();
  return {withoutSourceName(loc).getAsOpaquePointer(), int(phaseOf(op))};
}

FusionRule::FusionRule(FusionKind kind, func::FuncOp function) : kind(kind) {
  if (kind != FusionKind::Pointwise)
    return;
  function.walk([&](LoopOpInterface op) {
    if (!isPointwise(op))
      withRows.insert(sourceOf(op));
  });
}

bool FusionRule::mayShare(Operation *a, Operation *b) const {
  if (kind == FusionKind::All || (isUpdate(a) && isUpdate(b)))
    return true;
  if (kind == FusionKind::None)
    return false;
  if (sourceOf(a) == sourceOf(b))
    return true;
  return kind == FusionKind::Pointwise && !withRows.contains(sourceOf(a)) &&
         !withRows.contains(sourceOf(b));
}
