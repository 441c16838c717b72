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
#include "tpsp/Passes/Program/Repetition.h"

#include "tpsp/Schedule/CostModel.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <map>

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
  LayerTransfers(Block &block, const Mesh &mesh, std::optional<CostModel> cost,
                 bool overlap)
      : block(block), mesh(mesh), cost(std::move(cost)), overlap(overlap),
        repetition(block) {}

  void run() {
    findProducts();
    llvm::MapVector<Bucket, Transfers, std::map<Bucket, unsigned>> layers;
    Transfers outside;
    for (auto op : block.getOps<CollectiveOpInterface>()) {
      if (!isTransfer(op))
        continue;
      if (repetition.placeOf(op).calls.empty())
        outside.push_back(op);
      else
        layers[bucketOf(op)].push_back(op);
    }
    noteOutside(outside);
    for (auto &[layer, transfers] : layers)
      if (transfers.size() > 1 && isWorthwhile(transfers))
        merge(transfers);
  }

private:
  /// The calls of the layer that `op` is of, and whether it is of the backward
  /// pass.
  using Pass = std::pair<SmallVector<unsigned>, bool>;
  Pass passOf(Operation *op) const {
    return {llvm::to_vector(repetition.layerCallsOf(op)), isBackward(op)};
  }

  /// How long the products of each layer take.
  void findProducts() {
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
  using Bucket = std::pair<Pass, const void *>;
  Bucket bucketOf(CollectiveOpInterface op) const {
    Builder b(op.getContext());
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    Attribute alike = b.getArrayAttr(
        {b.getStringAttr(op->getName().getStringRef()), op.getAxes(),
         TypeAttr::get(type.getElementType()),
         b.getBoolAttr(getIdx(type).getPendingMax()),
         b.getBoolAttr(bool(op.getGradientsAttr())), placeInStep(op)});
    return {passOf(op), alike.getAsOpaquePointer()};
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
    auto product = products.find(passOf(transfers.front()));
    double under = product == products.end() ? 0 : product->second;
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

  Block &block;
  const Mesh &mesh;
  std::optional<CostModel> cost;
  const bool overlap;
  const Repetition repetition;
  /// Seconds, where that decides.
  std::map<Pass, double> products;
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
      LayerTransfers(function.getFunctionBody().front(), mesh, std::move(cost),
                     given.overlap == "on")
          .run();
    };
    if (failed(forEachFunction(
            {getOperation(), getArgument(), given.hardware, given.threads},
            /*asksForTime=*/given.bucketLayers == "time", visit)))
      signalPassFailure();
  }
};

} // namespace
