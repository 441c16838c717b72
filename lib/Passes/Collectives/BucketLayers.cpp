// tpsp-bucket-layers: one transfer for the weights of a layer.
//
// FSDP and ZeRO gather every matrix where it is used, and reduce-scatter its
// gradient where that is made. This pass merges the transfers of one layer,
// which is a call of a function. They become one gather before the layer's
// first and one reduce-scatter after its last. The bytes stay the same; all
// weights of a layer are whole together.
#include "CollectiveBuilder.h"
#include "Ledger.h"
#include "MovementModel.h"
#include "Passes/Program/MachineOptions.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/CallPlace.h"

#include "tpsp/Schedule/CostModel.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tpsp {
#define GEN_PASS_DEF_BUCKETLAYERS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// If time decides, one transfer may expose at most this share of the seconds
/// that separate transfers expose. The whole weights of a layer take memory, so
/// that a smaller gain is not worth it.
constexpr double worthwhile = 0.95;

using Transfers = SmallVector<CollectiveOpInterface, 0>;

bool isKind(CollectiveOpInterface op, CollectiveKind kind) {
  return op.getCollectiveKind() == kind;
}

/// Whether an operation is done element by element, or is a view.
bool isElementwise(Operation *op) {
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  return indexed && !indexed.isSumOfProducts() && isMemoryEffectFree(op);
}

/// Whether a value is made of the function's arguments alone, by operations
/// that may be done earlier. `made` are these, in an order that can be kept.
bool isOfArguments(Value value, llvm::SetVector<Operation *> &made) {
  Operation *op = value.getDefiningOp();
  if (!op || made.contains(op))
    return true;
  if (!isElementwise(op))
    return false;
  for (Value operand : op->getOperands())
    if (!isOfArguments(operand, made))
      return false;
  made.insert(op);
  return true;
}

/// Whether the results of `op` become, moved and element by element, what the
/// function returns, as the gradient of a weight does. `users`: all on the way.
bool isOnlyReturned(Operation *op, llvm::SetVector<Operation *> &users) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>() || users.contains(user))
      return true;
    if (!isElementwise(user) && !isa<CollectiveOpInterface>(user))
      return false;
    users.insert(user);
    return isOnlyReturned(user, users);
  });
}

class LayerTransfers {
public:
  /// With a `cost`, transfers are one only where less is exposed then. With
  /// `overlap` a layer's transfers go under the products of another.
  LayerTransfers(const Mesh &mesh, std::optional<CostModel> cost, bool overlap)
      : mesh(mesh), cost(std::move(cost)), overlap(overlap) {}

  void run(Block &block) {
    findDepth(block);
    findProducts(block);
    llvm::MapVector<Attribute, Transfers> layers;
    Transfers outside;
    for (auto op : block.getOps<CollectiveOpInterface>()) {
      if (!isTransfer(op))
        continue;
      if (callsOf(op).empty())
        outside.push_back(op);
      else
        layers[layerOf(op)].push_back(op);
    }
    noteOutside(outside);
    for (auto &[layer, transfers] : layers)
      if (transfers.size() > 1 && isWorthwhile(transfers))
        merge(transfers);
  }

private:
  static SmallVector<Location> callsOf(Operation *op) {
    SmallVector<Location> calls = callPlaceOf(op->getLoc()).calls;
    bool isKnown = llvm::none_of(
        calls, [](Location call) { return isa<UnknownLoc>(call); });
    return isKnown ? calls : SmallVector<Location>();
  }

  /// Layers are the outermost calls that differ: those above are the model's.
  void findDepth(Block &block) {
    std::optional<SmallVector<Location>> shared;
    for (auto op : block.getOps<CollectiveOpInterface>()) {
      SmallVector<Location> calls = callsOf(op);
      if (calls.empty())
        continue;
      if (!shared)
        shared = calls;
      auto differs = std::mismatch(shared->begin(), shared->end(),
                                   calls.begin(), calls.end());
      shared->erase(differs.first, shared->end());
    }
    depth = shared ? shared->size() : 0;
  }

  /// The call of the layer that `op` is of, and whether it is of the backward
  /// pass.
  Attribute passOf(Operation *op) const {
    SmallVector<Location> calls = callsOf(op);
    calls.truncate(std::min<size_t>(calls.size(), depth + 1));
    Builder b(op->getContext());
    SmallVector<Attribute> key(calls.begin(), calls.end());
    key.push_back(b.getBoolAttr(isBackward(op)));
    return b.getArrayAttr(key);
  }

  /// How long the products of each layer take.
  void findProducts(Block &block) {
    if (!cost || !overlap)
      return;
    for (auto op : block.getOps<IndexedOpInterface>()) {
      SmallVector<Placement> operands;
      for (Value operand : op->getOperands())
        operands.push_back(placementOf(operand.getType(), mesh));
      if (double seconds = productSeconds(op, operands, mesh, *cost))
        products[passOf(op)] += seconds;
    }
  }

  /// Layers are calls: what a function writes out has none.
  static void noteOutside(const Transfers &outside) {
    if (outside.size() > 1)
      remark::missed(
          outside.front()->getLoc(),
          remark::RemarkOpts::name("layer").category("tpsp-bucket-layers"))
          << remark::reason("{0} transfers of weights are of no layer and stay "
                            "apart: a layer is a call of a function",
                            outside.size());
  }

  static bool movesWeight(CollectiveOpInterface op) {
    llvm::SetVector<Operation *> others;
    if (isKind(op, CollectiveKind::AllGather))
      return isWeight(op->getOperand(0)) &&
             isOfArguments(op->getOperand(0), others);
    return isBackward(op) && isOnlyReturned(op, others);
  }

  static bool isTransfer(CollectiveOpInterface op) {
    bool isGather = isKind(op, CollectiveKind::AllGather);
    bool isScatter = isKind(op, CollectiveKind::ReduceScatter);
    return (isGather || isScatter) && op->getNumOperands() == 1 &&
           movesWeight(op);
  }

  /// The key of a bucket. Transfers are merged if they agree in layer, phase,
  /// kind, axes and element type, and in whether they move parameters'
  /// gradients.
  Attribute layerOf(CollectiveOpInterface op) const {
    Builder b(op.getContext());
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    SmallVector<Attribute> key = {passOf(op),
                                  b.getStringAttr(op->getName().getStringRef()),
                                  op.getAxes(),
                                  TypeAttr::get(type.getElementType()),
                                  b.getBoolAttr(getIdx(type).getPendingMax()),
                                  b.getBoolAttr(bool(op.getGradientsAttr()))};
    key.push_back(placeInStep(op));
    return b.getArrayAttr(key);
  }

  /// S of a collective: the larger of what one rank has before and after.
  double bytesOf(CollectiveOpInterface op) const {
    return double(std::max(localBytes(op->getOperand(0).getType(), mesh),
                           localBytes(op->getResult(0).getType(), mesh)));
  }

  bool isWorthwhile(const Transfers &transfers) const {
    if (!cost)
      return true;
    CollectiveStep step = stepOf(transfers.front(), mesh);
    double apart = 0, bytes = 0;
    for (CollectiveOpInterface op : transfers) {
      bytes += bytesOf(op);
      apart += cost->collectiveSeconds(step.kind, bytesOf(op), step.axes);
    }
    double together = cost->collectiveSeconds(step.kind, bytes, step.axes);
    double under = products.lookup(passOf(transfers.front()));
    apart = std::max(0.0, apart - under);
    together = std::max(0.0, together - under);
    bool isWorthwhile = apart > 0 && together <= worthwhile * apart;
    if (!isWorthwhile)
      noteApart(transfers, apart, together);
    return isWorthwhile;
  }

  static void noteApart(const Transfers &transfers, double apart,
                        double together) {
    remark::missed(
        transfers.front()->getLoc(),
        remark::RemarkOpts::name("layer").category("tpsp-bucket-layers"))
        << remark::reason("{0} transfers of a layer's weights stay apart: {1} "
                          "us of them are exposed, and {2} us of one",
                          transfers.size(), apart * 1e6, together * 1e6);
  }

  void merge(const Transfers &transfers) {
    bool isGather = isKind(transfers.front(), CollectiveKind::AllGather);
    if (isGather)
      hoist(transfers);
    else
      sink(transfers);
    Operation *place = isGather ? transfers.front() : transfers.back();
    double bytes = 0;
    for (CollectiveOpInterface op : transfers)
      bytes += bytesOf(op);
    size_t tensors = transfers.size();
    Operation *merged = mergeCollectives(transfers, place);
    remark::passed(merged->getLoc(), remark::RemarkOpts::name("layer").category(
                                         "tpsp-bucket-layers"))
        << remark::reason("{0} transfers of a layer's weights are one", tensors)
        << remark::metric("bytes", bytes);
  }

  /// Brings what later transfers move in front of the first.
  static void hoist(const Transfers &transfers) {
    llvm::SetVector<Operation *> made;
    for (CollectiveOpInterface op : transfers)
      isOfArguments(op->getOperand(0), made);
    for (Operation *op : made)
      if (!op->isBeforeInBlock(transfers.front()))
        op->moveBefore(transfers.front());
  }

  /// Moves the users of earlier transfers after the last transfer.
  static void sink(const Transfers &transfers) {
    Operation *last = transfers.back();
    llvm::SetVector<Operation *> users;
    for (CollectiveOpInterface op : transfers)
      isOnlyReturned(op, users);
    SmallVector<Operation *> early;
    for (Operation *user : users)
      if (user->isBeforeInBlock(last))
        early.push_back(user);
    llvm::sort(early, [](Operation *x, Operation *y) {
      return x->isBeforeInBlock(y);
    });
    for (Operation *user : llvm::reverse(early))
      user->moveAfter(last);
  }

  const Mesh &mesh;
  std::optional<CostModel> cost;
  const bool overlap;
  /// Seconds by passOf(), where that decides.
  llvm::DenseMap<Attribute, double> products;
  /// Calls above those of layers.
  size_t depth = 0;
};

struct BucketLayers
    : public WithOptions<tpsp::impl::BucketLayersBase<BucketLayers>,
                         &CompileOptions::bucketLayers,
                         &CompileOptions::overlap, &CompileOptions::hardware,
                         &CompileOptions::threads> {
  void runOnOperation() override {
    const CompileOptions &given = options();
    if (given.bucketLayers == "off")
      return;
    auto visit = [&](FunctionOpInterface function, const Mesh &mesh,
                     std::optional<CostModel> cost) {
      LayerTransfers(mesh, std::move(cost), given.overlap == "on")
          .run(function.getFunctionBody().front());
    };
    if (failed(forEachFunction(
            {getOperation(), getArgument(), given.hardware, given.threads},
            /*asksForTime=*/given.bucketLayers == "time", visit)))
      signalPassFailure();
  }
};

} // namespace
