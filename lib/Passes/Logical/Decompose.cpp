// tpsp-decompose-early and tpsp-decompose-late: replace composites by their
// parts.
#include "Decompose.h"

#include "Passes/Program/OriginListener.h"
#include "Passes/Program/SourceName.h"
#include "WrittenAttention.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/LibraryCalls.h"

#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"

namespace tpsp {
#define GEN_PASS_DEF_DECOMPOSEEARLY
#define GEN_PASS_DEF_DECOMPOSELATE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Gives the parts of a composite its phase and source location. Only the last
/// part, which replaces the composite, gets its name. With `tellsApart`, parts
/// are named after both: "o.softmax".
class InheritFromComposite : public OriginListener {
public:
  explicit InheritFromComposite(bool tellsApart) : tellsApart(tellsApart) {}

  void begin(Operation *composite) {
    follow(composite);
    numbers.clear();
  }

private:
  Location locationFor(Operation *op) override {
    return tellsApart ? partOfSource(op->getLoc(), partName(op))
                      : OriginListener::locationFor(op);
  }

  /// "reduce", and "reduce2" for the second.
  std::string partName(Operation *op) {
    StringRef name = op->getName().stripDialect();
    unsigned number = ++numbers[name];
    return number == 1 ? name.str() : (name + Twine(number)).str();
  }

  bool tellsApart;
  llvm::StringMap<unsigned> numbers;
};

} // namespace

void tpsp::decompose(Operation *root, bool tellsPartsApart,
                     SelectComposite select) {
  decompose(root, tellsPartsApart, select,
            [](DecomposableOpInterface op, OpBuilder &builder) {
              return op.decompose(builder);
            });
}

void tpsp::decompose(Operation *root, bool tellsPartsApart,
                     SelectComposite select, BuildParts build) {
  InheritFromComposite listener(tellsPartsApart);
  OpBuilder builder(root->getContext(), &listener);
  SmallVector<DecomposableOpInterface> composites;
  root->walk([&](DecomposableOpInterface op) {
    if (select(op))
      composites.push_back(op);
  });
  for (DecomposableOpInterface op : composites) {
    listener.begin(op);
    builder.setInsertionPoint(op);
    Value replacement = build(op, builder);
    if (Operation *last = replacement.getDefiningOp())
      last->setLoc(op->getLoc());
    if (Attribute isProposed = op->getAttr(proposedAttrName))
      setResultAttr(replacement, proposedAttrName, isProposed);
    op->getResult(0).replaceAllUsesWith(replacement);
    op->erase();
  }
}

void tpsp::takeOutSinks(Operation *root,
                        function_ref<bool(Operation *)> select) {
  OriginListener listener;
  OpBuilder builder(root->getContext(), &listener);
  root->walk([&](AttentionOpInterface op) {
    if (!select(op))
      return;
    listener.follow(op);
    builder.setInsertionPoint(op);
    op.takeOutSink(builder);
  });
}

/// With a low bias the row's statistic has lost the precision from which blocks
/// recompute the weights.
static LogicalResult refuseBiases(Operation *root) {
  WalkResult result = root->walk([](AttentionOpInterface op) {
    if (!op.getBias())
      return WalkResult::advance();
    op->emitOpError("has a bias, which is not added in blocks of keys; way "
                    "out: --attention rows, or --attention fused");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {

struct DecomposeEarly
    : public WithOptions<tpsp::impl::DecomposeEarlyBase<DecomposeEarly>,
                         &CompileOptions::attention, &CompileOptions::device,
                         &CompileOptions::forGpu> {
  void runOnOperation() override {
    const CompileOptions &given = options();
    bool keepsSwept = given.attention == "blocks";
    if (keepsSwept && failed(refuseBiases(getOperation())))
      return signalPassFailure();
    if (given.keepsCalls())
      warnOfScores(given.usesGpuLibraries());
    auto select = [&](DecomposableOpInterface op) {
      // A composite with further results is not decomposed.
      if (!op.decomposesEarly() || op->getNumResults() > 1 ||
          (keepsSwept && isa<SweptOpInterface>(*op)))
        return false;
      if (given.keepsCalls() &&
          isLibraryCall(op, given.usesGpuLibraries(), getArgument()))
        return false;
      if (op.mayReadNeighbours())
        op->setAttr(whenPlacedAttrName, UnitAttr::get(op.getContext()));
      return !op.mayReadNeighbours();
    };
    // The backward pass names gradients after the parts.
    decompose(getOperation(), /*tellsPartsApart=*/true, select);
  }

  /// Warns of attention that takes no call, although calls are asked for.
  void warnOfScores(bool forGpu) {
    warnOfWrittenAttention(getOperation());
    for (const KeptScores &each : keptScores(getOperation(), forGpu))
      each.first->emitWarning("this attention ") << each.text();
  }
};

struct DecomposeLate : public tpsp::impl::DecomposeLateBase<DecomposeLate> {
  using Base::Base;
  void runOnOperation() override {
    // Operations that decompose early and are still here were kept on purpose.
    decompose(getOperation(), /*tellsPartsApart=*/false,
              [](DecomposableOpInterface op) {
                return !op.decomposesEarly() && !op.hasOwnKernel();
              });
    // Calls of a library have no sinks.
    takeOutSinks(getOperation(), [](Operation *) { return true; });
    getOperation()->walk(dropRequest);
  }

  /// Removes a view that only stops gradients, once differentiation is done.
  /// Between two loops it would keep them from sharing a kernel.
  static void dropRequest(IndexedOpInterface op) {
    if (!op.isView() || !op.stopsGradient() ||
        op->getOperand(0).getType() != op->getResult(0).getType())
      return;
    Value source = op->getOperand(0), view = op->getResult(0);
    if (isReturned(view) && !isReturned(source) && source.getDefiningOp())
      if (std::optional<std::string> name = sourceName(view.getLoc()))
        setName(source, StringAttr::get(view.getContext(), *name));
    view.replaceAllUsesWith(source);
    op->erase();
  }

  /// A result of the program keeps its name.
  static bool isReturned(Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      return user->hasTrait<OpTrait::IsTerminator>();
    });
  }
};

} // namespace
