// tpsp-partition: turns global shapes into one rank's.
#include "Passes/Program/FunctionResults.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace tpsp {
#define GEN_PASS_DEF_PARTITION
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

class Partitioner {
public:
  Partitioner(func::FuncOp function)
      : function(function), mesh(meshOf(function)) {}

  LogicalResult run(bool keepTrivial) {
    if (failed(checkPlaced()))
      return failure();
    if (!keepTrivial)
      dropTrivialCollectives();
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        result.setType(local(result.getType()));
    });
    for (BlockArgument argument : function.getArguments())
      argument.setType(local(argument.getType()));
    updateType(function);
    return success();
  }

private:
  /// Verifies that every operation is in a placement that needs no
  /// communication.
  LogicalResult checkPlaced() {
    std::set<Signature> known; // layers and micro-batches repeat them
    WalkResult result = function.walk([&](IndexedOpInterface op) {
      if (!known.insert(signatureOf(op)).second)
        return WalkResult::advance();
      PlacedStructure placed(op, mesh);
      auto choice = chooseComputePlacement(placed.get());
      bool agrees = choice && llvm::equal(choice->operands, placed.operands);
      for (auto [i, wanted] : llvm::enumerate(placed.wanted))
        agrees = agrees && wanted && *wanted == choice->results[i];
      if (agrees)
        return WalkResult::advance();
      op->emitOpError("does not agree with any compute placement without "
                      "communication; run tpsp-insert-collectives first");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// A collective over a single rank only changes subscripts.
  void dropTrivialCollectives() {
    SmallVector<CollectiveOpInterface> trivial;
    function.walk([&](CollectiveOpInterface op) {
      AxisList axes;
      for (auto name : op.getAxes().getAsRange<StringAttr>())
        axes.push_back(*mesh.find(name.getValue()));
      if (mesh.groupSize(axes) == 1)
        trivial.push_back(op);
    });
    for (CollectiveOpInterface op : trivial) {
      OpBuilder builder(op);
      for (auto [operand, result] :
           llvm::zip_equal(op->getOperands(), op->getResults())) {
        auto rename =
            RenameOp::create(builder, op->getLoc(), result.getType(), operand);
        for (StringRef name : phaseAttrNames)
          if (Attribute phase = op->getAttr(name))
            rename->setAttr(name, phase);
        result.replaceAllUsesWith(rename.getResult());
      }
      op->erase();
    }
  }

  Type local(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    IdxAttr idx = getIdx(type);
    if (!idx || idx.getLocal())
      return type;
    auto localIdx =
        IdxAttr::get(type.getContext(), idx.getNames(), idx.getAxes(),
                     idx.getPending(), idx.getPendingMax(), /*unplaced=*/false,
                     /*local=*/true);
    return RankedTensorType::get(
        localShape(tensor.getShape(), placementOf(type, mesh), mesh),
        tensor.getElementType(), localIdx);
  }

  func::FuncOp function;
  Mesh mesh;
};

struct Partition : public WithOptions<tpsp::impl::PartitionBase<Partition>,
                                      &CompileOptions::keepTrivial> {
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), [&](auto function) {
          return Partitioner(cast<func::FuncOp>(*function))
              .run(options().keepTrivial);
        })))
      signalPassFailure();
  }
};

} // namespace
