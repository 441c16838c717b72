#include "GatherOnce.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <map>
#include <vector>

using namespace mlir;
using namespace tpsp;

namespace {

class GatherHoisting {
public:
  explicit GatherHoisting(FunctionOpInterface function)
      : function(function), body(function.getFunctionBody().front()) {}

  void run() {
    for (Operation &op : body.without_terminator()) {
      if (!isOfParameters(&op))
        continue;
      ofParameters.insert(&op);
      if (isGather(&op))
        hoist(&op);
    }
    for (Operation *op : llvm::reverse(replaced))
      if (op->use_empty())
        op->erase();
  }

private:
  static bool isGather(Operation *op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective && op->getNumOperands() == 1 &&
           collective.getCollectiveKind() == CollectiveKind::AllGather;
  }

  /// Whether the operation computes with parameters alone, before the update.
  bool isOfParameters(Operation *op) {
    return !isUpdate(op) && op->getNumOperands() > 0 &&
           isMemoryEffectFree(op) &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return isOfParameters(operand); });
  }

  bool isOfParameters(Value value) {
    if (Operation *maker = value.getDefiningOp())
      return ofParameters.contains(maker);
    unsigned number = cast<BlockArgument>(value).getArgNumber();
    return bool(function.getArgAttr(number, paramAttrName));
  }

  void hoist(Operation *gather) {
    if (Operation *maker = gather->getOperand(0).getDefiningOp())
      gather->setOperand(
          0, shared(maker)->getResult(
                 cast<OpResult>(gather->getOperand(0)).getResultNumber()));
    moveOut(gather);
    if (auto reason = gather->getAttrOfType<StringAttr>("reason"))
      gather->setAttr("reason", StringAttr::get(gather->getContext(),
                                                reason.getValue() + note));
  }

  /// The operation, moved out with its makers; or an equal one that was moved
  /// out before. A rematerialised operation equals the original.
  Operation *shared(Operation *op) {
    if (movedOut.contains(op))
      return op;
    for (OpOperand &operand : op->getOpOperands())
      if (auto result = dyn_cast<OpResult>(operand.get()))
        operand.set(
            shared(result.getOwner())->getResult(result.getResultNumber()));
    moveOut(op);
    std::vector<const void *> key = {
        op->getName().getAsOpaquePointer(),
        op->getAttrDictionary().getAsOpaquePointer()};
    for (Value operand : op->getOperands())
      key.push_back(operand.getAsOpaquePointer());
    for (Type type : op->getResultTypes())
      key.push_back(type.getAsOpaquePointer());
    Operation *first = equals.try_emplace(key, op).first->second;
    // An equal operation that comes later cannot be read here.
    if (first == op || !first->isBeforeInBlock(op)) {
      movedOut.insert(op);
      return op;
    }
    replaced.insert(op);
    return first;
  }

  static void moveOut(Operation *op) {
    changeOrigin(op, [](Origin &origin) {
      origin.part.reset();
      origin.chunk.reset();
      origin.phase = Phase::Forward;
      origin.isRecomputed = false;
    });
  }

  static constexpr StringLiteral note = "; gathered once a step";

  FunctionOpInterface function;
  Block &body;
  llvm::DenseSet<Operation *> ofParameters, movedOut;
  /// Operations that equal ones before them replace.
  llvm::SetVector<Operation *> replaced;
  /// Operations that were moved out, by everything that tells them apart.
  std::map<std::vector<const void *>, Operation *> equals;
};

} // namespace

void tpsp::gatherOnce(FunctionOpInterface function) {
  GatherHoisting(function).run();
}
