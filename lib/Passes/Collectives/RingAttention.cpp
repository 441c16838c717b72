// tpsp-ring-attention: attention hands its keys around a ring, and does not
// gather them.
#include "Passes/Program/OriginListener.h"
#include "tpsp/Dialect/Tpsp/Attention/AttentionRing.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {
#define GEN_PASS_DEF_RINGATTENTION
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

constexpr llvm::StringLiteral passName = "tpsp-ring-attention";

/// Parts keep the attention's name, as parts: "o.select".
class PartListener : public OriginListener {
  Location locationFor(Operation *op) override {
    return partOfSource(op->getLoc(), op->getName().stripDialect());
  }
};

bool goesAround(AttentionOpInterface op) {
  std::string obstacle = ringObstacle(op);
  if (!obstacle.empty())
    remark::missed(op->getLoc(),
                   remark::RemarkOpts::name("ring").category(passName))
        << remark::reason("keys are gathered: {0}", obstacle);
  return obstacle.empty();
}

struct RingAttention
    : public WithOptions<tpsp::impl::RingAttentionBase<RingAttention>,
                         &CompileOptions::attention> {
  void runOnOperation() override {
    if (options().attention != "ring")
      return;
    // Hops know no sinks.
    forEachAttention([](AttentionOpInterface op, OpBuilder &builder) {
      if (op.getSink() && ringObstacle(op).empty())
        op.takeOutSink(builder);
    });
    forEachAttention([](AttentionOpInterface op, OpBuilder &builder) {
      if (goesAround(op))
        replaceByRing(builder, op);
    });
  }

  void forEachAttention(
      function_ref<void(AttentionOpInterface, OpBuilder &)> visit) {
    PartListener listener;
    OpBuilder builder(&getContext(), &listener);
    SmallVector<AttentionOpInterface> found;
    getOperation()->walk([&](AttentionOpInterface op) { found.push_back(op); });
    for (AttentionOpInterface op : found) {
      listener.follow(op);
      builder.setInsertionPoint(op);
      visit(op, builder);
    }
  }
};

} // namespace
