#include "CallOrder.h"

#include "tpsp/Dialect/Tpsp/IR/ModelText.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Follows calls by a list instead of recursion, because calls may nest as deep
/// as there are functions until their depth is checked.
class CallWalk {
public:
  explicit CallWalk(const SymbolTable &symbols) : symbols(symbols) {}

  LogicalResult from(func::FuncOp root) {
    if (seen.insert(root).second)
      enter(root);
    while (!path.empty())
      if (failed(step()))
        return failure();
    return success();
  }

  SmallVector<func::FuncOp> order;

private:
  struct Caller {
    func::FuncOp function;
    SmallVector<func::CallOp> calls;
    size_t next = 0;
  };

  void enter(func::FuncOp function) {
    Caller caller{function, {}};
    function->walk([&](func::CallOp call) { caller.calls.push_back(call); });
    path.push_back(std::move(caller));
    onPath.insert(function);
  }

  /// Follows the last caller's next call, or leaves the caller.
  LogicalResult step() {
    Caller &last = path.back();
    if (last.next < last.calls.size())
      return follow(last.calls[last.next++]);
    for (func::CallOp call : last.calls)
      if (failed(countDepth(last.function, call)))
        return failure();
    order.push_back(last.function);
    onPath.erase(last.function);
    path.pop_back();
    return success();
  }

  /// Limits the depth, because later passes recurse into calls, and into the
  /// locations that inlining leaves.
  LogicalResult countDepth(func::FuncOp caller, func::CallOp call) {
    unsigned below = depth.lookup(symbols.lookup(call.getCallee())) + 1;
    if (below > maxNesting)
      return call.emitOpError("has more than ")
             << maxNesting
             << " calls within each other; put what functions that are called "
                "once do in their callers";
    unsigned &own = depth[caller];
    own = std::max(own, below);
    return success();
  }

  LogicalResult follow(func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal())
      return call.emitOpError("calls '@")
             << call.getCallee()
             << "', which has no body; write the function in this file";
    if (onPath.contains(callee))
      return call.emitOpError("calls '@")
             << call.getCallee()
             << "' from within it, which never ends; a program is a list of "
                "operations";
    if (seen.insert(callee).second)
      enter(callee);
    return success();
  }

  const SymbolTable &symbols;
  llvm::DenseSet<Operation *> seen, onPath;
  /// How deep calls nest below a function; 0 if it calls none.
  llvm::DenseMap<Operation *, unsigned> depth;
  std::vector<Caller> path;
};

} // namespace

FailureOr<SmallVector<func::FuncOp>>
tpsp::functionsInCallOrder(ModuleOp module, const SymbolTable &symbols) {
  CallWalk walk(symbols);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && failed(walk.from(function)))
      return failure();
  return std::move(walk.order);
}
