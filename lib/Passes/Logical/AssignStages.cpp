// tpsp-assign-stages: says which chunk of layers every operation belongs to.
#include "Passes/Program/StageMarks.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/StageAssignment.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Options/OptionFlags.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {
#define GEN_PASS_DEF_ASSIGNSTAGES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

struct AssignStages
    : public WithOptions<tpsp::impl::AssignStagesBase<AssignStages>,
                         &CompileOptions::stageChunks,
                         &CompileOptions::stageLayers> {
  void runOnOperation() override {
    std::optional<AxisId> axis = stageAxisOf(getOperation());
    if (!axis || meshOf(getOperation()).size(*axis) == 1)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isProgram(function) && failed(assign(function)))
        return signalPassFailure();
  }

private:
  /// A program whose operations have chunks already keeps them.
  static bool isProgram(func::FuncOp function) {
    return !function.isPrivate() && !function.isExternal() &&
           !function->hasAttr(stageChunkAttrName) &&
           !function->hasAttr(updateOfAttrName) && !hasChunks(function);
  }

  LogicalResult assign(func::FuncOp program) {
    llvm::Expected<SmallVector<int64_t>> layers =
        readStageLayers(options().stageLayers);
    if (!layers)
      return emitOptionError(getOperation(), getArgument(), "stage-layers")
             << llvm::toString(layers.takeError());
    StageAssignment assignment(program, {options().stageChunks, *layers});
    if (failed(assignment.assign()))
      return failure();
    for (Operation &op : assignment.body().without_terminator())
      changeOrigin(
          &op, [&](Origin &origin) { origin.chunk = assignment.chunkOf(&op); });
    return success();
  }
};

} // namespace
