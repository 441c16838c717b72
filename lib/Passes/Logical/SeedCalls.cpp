// tpsp-seed-calls: gives every call of a function its own dropout seeds.
#include "SeedCalls.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tpsp {
#define GEN_PASS_DEF_SEEDCALLS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// The attribute of every operation that draws numbers.
static constexpr llvm::StringLiteral seedAttrName = "seed";

NamedAttribute tpsp::withWrittenSeed(NamedAttribute attribute) {
  auto seed = dyn_cast<IntegerAttr>(attribute.getValue());
  if (!seed || attribute.getName() != seedAttrName)
    return attribute;
  auto written = static_cast<uint32_t>(seed.getInt());
  return {attribute.getName(), IntegerAttr::get(seed.getType(), written)};
}

namespace {

/// Sets the call's number above the program's seed. Philox keys have 64 bits,
/// so no two seeds are equal.
void reseed(func::FuncOp function, int64_t number) {
  function->walk([&](IndexedOpInterface op) {
    auto seed = op->getAttrOfType<IntegerAttr>(seedAttrName);
    if (!seed)
      return;
    auto drawn = static_cast<uint64_t>(seed.getInt()) +
                 (static_cast<uint64_t>(number) << 32);
    op->setAttr(seedAttrName,
                IntegerAttr::get(seed.getType(), static_cast<int64_t>(drawn)));
  });
}

/// Follows the calls of a function, in order, and the calls of its callees.
class Calls {
public:
  explicit Calls(ModuleOp module) : symbols(module) {}

  void followFrom(func::FuncOp root) {
    numbers.clear();
    follow(root);
  }

private:
  void follow(func::FuncOp caller) {
    caller->walk([&](func::CallOp call) { follow(call); });
  }

  void follow(func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal() || !draws(callee))
      return;
    func::FuncOp original = callee;
    if (auto found = originals.find(callee); found != originals.end())
      original = found->second;
    // Recursion is refused elsewhere (tpsp-check-program).
    if (!active.insert(original).second)
      return;
    int64_t number = numbers[original]++;
    func::FuncOp called = number == 0 ? original : copyOf(original, number);
    call.setCallee(called.getSymName());
    follow(called);
    active.erase(original);
  }

  func::FuncOp copyOf(func::FuncOp original, int64_t number) {
    func::FuncOp copy = original.clone();
    symbols.insert(copy);
    copy.setPrivate();
    originals[copy] = original;
    reseed(copy, number);
    return copy;
  }

  /// Whether the function, or a function that it calls, has a seed.
  bool draws(func::FuncOp function) {
    auto [known, isNew] = drawing.try_emplace(function, false);
    if (!isNew)
      return known->second;
    bool found = false;
    function->walk([&](Operation *op) {
      if (auto call = dyn_cast<func::CallOp>(op)) {
        auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
        found = found || (callee && draws(callee));
      } else {
        found = found || (isa<IndexedOpInterface>(op) &&
                          op->hasAttrOfType<IntegerAttr>(seedAttrName));
      }
    });
    return drawing[function] = found;
  }

  SymbolTable symbols;
  /// The functions being followed, as originals.
  llvm::SmallPtrSet<Operation *, 8> active;
  /// The original of each copy.
  llvm::DenseMap<Operation *, func::FuncOp> originals;
  /// The number of calls of a function so far.
  llvm::DenseMap<Operation *, int64_t> numbers;
  llvm::DenseMap<Operation *, bool> drawing;
};

struct SeedCalls : public tpsp::impl::SeedCallsBase<SeedCalls> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<func::FuncOp> roots;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isPrivate() && !function.isExternal())
        roots.push_back(function);
    Calls calls(getOperation());
    for (func::FuncOp root : roots)
      calls.followFrom(root);
  }
};

} // namespace
