// tpsp-place-stages: says on which stages everything runs.
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/StageMarks.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_PLACESTAGES
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// Lets every stage add up what it has before stages meet. Before: each stage
/// sends every summand. After: one for each stage.
static void addByStage(AddOp sum, const StageMarks &marks) {
  SmallVector<std::pair<StageSet, SmallVector<Value>>> groups;
  for (Value operand : sum->getOperands()) {
    StageSet stages = marks.stagesOf(operand);
    auto group = llvm::find_if(
        groups, [&](const auto &each) { return each.first == stages; });
    if (group == groups.end())
      group = groups.insert(groups.end(), {stages, {}});
    group->second.push_back(operand);
  }
  bool isAlike = llvm::all_of(sum->getOperandTypes(),
                              [&](Type type) { return type == sum.getType(); });
  if (groups.size() < 2 || groups.size() == sum->getNumOperands() || !isAlike)
    return;
  OpBuilder b(sum);
  SmallVector<Value> summands;
  for (auto &[stages, values] : groups) {
    if (values.size() == 1) {
      summands.push_back(values.front());
      continue;
    }
    auto part = AddOp::create(b, sum.getLoc(), sum.getType(), values);
    setOrigin(part, {.phase = phaseOf(sum)});
    summands.push_back(part.getResult());
  }
  sum->setOperands(summands);
}

/// Lets every stage that reads an argument have the value that replaces it.
/// Before: the stages that compute the value. After: also those that read the
/// argument without having its gradient.
static void spreadUpdates(func::FuncOp function, const StageMarks &marks) {
  Block &body = function.getBody().front();
  Operation *end = body.getTerminator();
  OpBuilder b(end);
  for (OpOperand &result : end->getOpOperands()) {
    auto of = function.getResultAttrOfType<IntegerAttr>(
        result.getOperandNumber(), updatesAttrName);
    Operation *maker = result.get().getDefiningOp();
    if (!of || !maker)
      continue;
    StageSet has = marks.stagesOf(maker), wanted = has;
    for (Operation *user : function.getArgument(of.getInt()).getUsers())
      wanted |= marks.stagesOf(user);
    if (wanted == has)
      continue;
    auto copy = ScaleOp::create(b, maker->getLoc(), result.get().getType(),
                                ValueRange{result.get()}, b.getF64FloatAttr(1));
    setOrigin(copy, {.phase = Phase::Update, .stages = listOf(wanted)});
    result.set(copy.getResult());
  }
}

namespace {

struct PlaceStages
    : public WithOptions<tpsp::impl::PlaceStagesBase<PlaceStages>,
                         &CompileOptions::stagePlacement> {
  void runOnOperation() override {
    std::optional<AxisId> axis = stageAxisOf(getOperation());
    int64_t stages = axis ? meshOf(getOperation()).size(*axis) : 1;
    if (stages == 1)
      return;
    auto visit = [&](FunctionOpInterface function) {
      if (hasChunks(function))
        place(cast<func::FuncOp>(*function),
              {stages, options().stagePlacement == "folded"});
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }

private:
  static void place(func::FuncOp function, ChunkPlacement placement) {
    Block &body = function.getBody().front();
    StageMarks before(body, placement);
    for (auto sum : llvm::to_vector(body.getOps<AddOp>()))
      if (!hasPart(sum))
        addByStage(sum, before);
    spreadUpdates(function, StageMarks(body, placement));
    StageMarks(body, placement).write();
  }
};

} // namespace
