// tpsp-check-program: rejects modules that are not programs, and warns of
// likely mistakes.
#include "Passes/Program/CallOrder.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/TensorBytes.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_CHECKPROGRAM
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// The only operand that carries `name`, if the result does not carry it.
std::optional<unsigned> loneCarrier(Operation *op, StringRef name) {
  if (getIdx(op->getResult(0)).dimOf(name))
    return std::nullopt;
  std::optional<unsigned> carrier;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!getIdx(operand.get()).dimOf(name))
      continue;
    if (carrier)
      return std::nullopt;
    carrier = operand.getOperandNumber();
  }
  return carrier;
}

void warn(IndexedOpInterface op) {
  if (!op.isSumOfProducts() || op->getNumOperands() < 2)
    return;
  for (Value operand : op->getOperands())
    for (StringRef name : indexNames(operand.getType()))
      if (std::optional<unsigned> carrier = loneCarrier(op, name))
        op->emitWarning("index '")
            << name << "' is on operand #" << *carrier
            << " alone, and is summed over before the product; if that is "
               "meant, a tpsp.reduce of the operand says so";
}

/// A nested or an empty module would otherwise be skipped silently.
LogicalResult checkModule(ModuleOp module) {
  auto nested = module.getOps<ModuleOp>();
  if (!nested.empty())
    return emitErrorAt(*nested.begin())
           << "a program within a module, or beside another, is not compiled; "
              "write one in a file, or '// -----' between two and give "
              "--split-input-file";
  auto functions = module.getOps<FunctionOpInterface>();
  if (llvm::all_of(functions, [](auto each) { return each.isExternal(); }))
    return emitErrorAt(module)
           << "the program has no function with a body; write one, such as "
              "func.func @name(...)";
  return success();
}

/// Refuses other operations: a program is one list of operations, with its
/// calls inlined.
LogicalResult checkKind(Operation *op) {
  if (isa<func::FuncOp, func::ReturnOp, func::CallOp>(op) ||
      isa_and_nonnull<TpspDialect>(op->getDialect()))
    return success();
  return op->emitOpError("is no operation of tpsp; a program is made of those, "
                         "one after another, and of calls of functions");
}

/// The bytes of the function's tensors, unsharded. Arguments of a private
/// function are its callers' tensors.
TensorBytes bytesOf(func::FuncOp function) {
  TensorBytes bytes;
  auto add = [&](Value value) {
    bytes.add(value, wholeBytes(value.getType()));
  };
  if (!function.isPrivate())
    llvm::for_each(function.getArguments(), add);
  for (Operation &op : function.getBody().front())
    if (!isa<func::CallOp>(op))
      llvm::for_each(op.getResults(), add);
  return bytes;
}

/// Refuses calls that cannot be followed, and tensors that are too large
/// together with those of the called functions.
LogicalResult checkCalls(ModuleOp module) {
  SymbolTable symbols(module);
  auto order = functionsInCallOrder(module, symbols);
  if (failed(order))
    return failure();
  llvm::DenseMap<Operation *, TensorBytes> bytes;
  for (func::FuncOp function : *order) {
    TensorBytes &own = bytes[function] = bytesOf(function);
    function->walk([&](func::CallOp call) {
      own.add(bytes.lookup(symbols.lookup(call.getCallee())));
    });
    if (failed(checkBytes(own, mostProgramBytes, "the program", function)))
      return failure();
  }
  return success();
}

LogicalResult checkOperations(FunctionOpInterface function) {
  WalkResult result = function->walk([](Operation *op) {
    return failed(checkKind(op)) ? WalkResult::interrupt()
                                 : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

struct CheckProgram : public tpsp::impl::CheckProgramBase<CheckProgram> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(checkModule(getOperation())))
      return signalPassFailure();
    if (failed(forEachFunction(getOperation(), checkOperations)) ||
        failed(checkCalls(getOperation())))
      return signalPassFailure();
    getOperation()->walk([](IndexedOpInterface op) { warn(op); });
  }
};

} // namespace
