// tpsp-rematerialize: computes parts of the forward pass again in the backward
// pass instead of saving their results.
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/Repetition.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"

namespace tpsp {
#define GEN_PASS_DEF_REMATERIALIZE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

enum class Mode { None, Selective, Full };

/// The operations of the forward pass that a mode rematerialises.
class Choice {
  /// The most loops that the backward pass rematerialises for one tensor.
  static constexpr size_t mostParts = 8;
  /// A tensor is narrow if it is this many times smaller.
  static constexpr int64_t narrowShare = 16;

public:
  /// `layers`: of how many layers the mode Full rematerialises, of each chunk;
  /// 0: of all.
  Choice(Block &body, Mode mode, int64_t layers) {
    for (Operation &op : body.without_terminator())
      if (!isBackward(&op) && isMemoryEffectFree(&op))
        forward.push_back(&op);
    if (mode == Mode::Full)
      chooseInsideLayers(body, layers);
    if (mode == Mode::Selective)
      chooseMarked();
    chooseFree();
    keepWhatIsSent();
  }

  bool contains(Operation *op) const { return op && redone.contains(op); }

private:
  /// Chooses marked operations, and views of them, whose bytes are not kept,
  /// either.
  void chooseMarked() {
    for (Operation *op : forward) {
      auto indexed = dyn_cast<IndexedOpInterface>(op);
      bool isView = indexed && indexed.isView();
      if (op->hasAttr(recomputeAttrName) ||
          (isView && contains(op->getOperand(0).getDefiningOp())))
        redone.insert(op);
    }
  }

  /// Chooses operations that cost nothing. One kind computes a tensor
  /// elementwise from a tensor that is saved, or that takes less memory. If the
  /// backward pass reads it elementwise only, the reading loops rematerialise
  /// it, and it is neither written nor saved. The other kind is a view of a
  /// saved tensor, possibly of a tensor that was gathered for the
  /// forward pass.
  void chooseFree() {
    for (Operation *op : forward) {
      if (isReadInLoops(op))
        for (Operation *part : partsFromSmaller(op))
          redone.insert(part);
      if (op->getNumOperands() == 1 && isKeptAnyway(op->getOperand(0)) &&
          isFreeView(op))
        redone.insert(op);
    }
  }

  /// The operations that compute `op`'s result from such a tensor, the last
  /// first; empty if there is no such tensor.
  SmallVector<Operation *> partsFromSmaller(Operation *op) const {
    SmallVector<Operation *> parts;
    for (Operation *each = op; each && parts.size() < mostParts;) {
      Value source = sourceOf(each);
      if (!source)
        return {};
      parts.push_back(each);
      if (isKeptAnyway(source) || bytesOf(source) < bytesOf(op->getResult(0)))
        return parts;
      each = source.getDefiningOp();
    }
    return {};
  }

  /// The operand with the result's elements in the same placement. Other
  /// operands must be narrow, such as a row's maximum. Null if `op` is not
  /// elementwise.
  Value sourceOf(Operation *op) const {
    if (contains(op) || isBackward(op) || !isMemoryEffectFree(op) ||
        !isa<LoopOpInterface>(op) || op->getNumResults() != 1)
      return {};
    Value result = op->getResult(0), source;
    for (Value operand : op->getOperands()) {
      IdxAttr idx = getIdx(operand);
      if (!idx || contains(operand.getDefiningOp()) ||
          !idx.getPending().empty())
        return {};
      if (idx == getIdx(result) && !source)
        source = operand;
      else if (bytesOf(operand) > bytesOf(result) / narrowShare)
        return {};
    }
    return source;
  }

  static int64_t bytesOf(Value value) {
    auto tensor = typeOf(value);
    return tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  }

  /// A view with its operand's placement, which the user did not request.
  static bool isFreeView(Operation *op) {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    return indexed && indexed.isView() &&
           getResultAttr(op->getResult(0), proposedAttrName) &&
           llvm::any_of(op->getUsers(), isBackward);
  }

  /// Whether it computes one element from each of the value's.
  static bool goesThrough(Operation *op, Value value) {
    return isa<LoopOpInterface>(op) && op->getNumResults() == 1 &&
           getIdx(op->getResult(0)).getNames() == getIdx(value).getNames();
  }

  bool isKeptAnyway(Value value) const {
    return !contains(value.getDefiningOp()) &&
           llvm::any_of(value.getUsers(), isBackward);
  }

  /// Whether the backward pass, including operations that it rematerialises,
  /// reads the result, and reads it in loops only.
  bool isReadInLoops(Operation *op) const {
    if (op->getNumResults() != 1 || !getIdx(op->getResult(0)))
      return false;
    bool isRead = false;
    for (Operation *user : op->getUsers()) {
      if (!isBackward(user) && !contains(user))
        continue;
      if (!goesThrough(user, op->getResult(0)))
        return false;
      isRead = true;
    }
    return isRead;
  }

  /// Chooses everything that a layer computes for itself. The results of a
  /// layer are inputs of another layer, or are returned and exist in any case.
  /// A program without calls is one layer. In a program with calls, operations
  /// outside of all layers belong to none.
  void chooseInsideLayers(Block &body, int64_t layers) {
    const Repetition repetition(body);
    bool hasLayers = llvm::any_of(
        forward, [&](Operation *op) { return repetition.layerOf(op); });
    llvm::DenseSet<unsigned> saved;
    if (layers > 0)
      saved = layersAfter(layers, repetition);
    for (Operation *op : forward) {
      std::optional<unsigned> layer = repetition.layerOf(op);
      if ((!hasLayers || (layer && !saved.contains(*layer))) &&
          !isHandedOn(op, repetition))
        redone.insert(op);
    }
  }

  /// The layers that follow the first `count` of their chunk. A call that no
  /// other call repeats, such as that of the loss, is no layer here.
  llvm::DenseSet<unsigned> layersAfter(int64_t count,
                                       const Repetition &repetition) const {
    llvm::DenseMap<unsigned, llvm::SmallSetVector<unsigned, 2>> layersOf;
    for (Operation *op : forward)
      if (std::optional<unsigned> layer = repetition.layerOf(op))
        layersOf[repetition.placeOf(op).what].insert(*layer);
    llvm::DenseMap<int64_t, llvm::SetVector<unsigned>> ofChunk;
    for (Operation *op : forward)
      if (std::optional<unsigned> layer = repetition.layerOf(op);
          layer && layersOf[repetition.placeOf(op).what].size() > 1)
        ofChunk[originOf(op).chunk.value_or(0)].insert(*layer);
    llvm::DenseSet<unsigned> after;
    for (const auto &[chunk, all] : ofChunk)
      if (int64_t(all.size()) > count)
        after.insert(all.begin() + count, all.end());
    return after;
  }

  /// Drops what a stage hands to another: both have its result anyway.
  void keepWhatIsSent() {
    for (Operation *op : forward)
      if (llvm::any_of(op->getUsers(), [&](Operation *user) {
            std::optional<int64_t> chunk = originOf(user).chunk;
            return chunk && chunk != originOf(op).chunk;
          }))
        redone.erase(op);
  }

  static bool isHandedOn(Operation *op, const Repetition &repetition) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      if (isBackward(user))
        return false;
      return user->hasTrait<OpTrait::IsTerminator>() ||
             repetition.layerOf(user) != repetition.layerOf(op);
    });
  }

  SmallVector<Operation *> forward;
  llvm::DenseSet<Operation *> redone;
};

/// Before: the backward pass uses results of the forward pass. After: it
/// recomputes the chosen ones from saved tensors. Saved memory shrinks by the
/// tensors that are no longer used; work and collectives grow by those that are
/// recomputed.
class Rematerializer {
public:
  Rematerializer(Block &body, Mode mode, int64_t layers)
      : body(body), choice(body, mode, layers) {
    for (Operation &op : body)
      position[&op] = position.size();
  }

  void run() {
    // Clones are inserted before the operation that needs them, so they are not
    // visited.
    for (Operation &op : body)
      if (isBackward(&op))
        redoOperandsOf(&op);
    dropDead();
  }

private:
  /// Each operation is rematerialised once, where the backward pass first needs
  /// it.
  void redoOperandsOf(Operation *user) {
    SmallVector<Operation *> missing = missingFor(user);
    llvm::sort(missing, [&](Operation *a, Operation *b) {
      return position[a] < position[b];
    });
    OpBuilder builder(user);
    for (Operation *op : missing) {
      Operation *clone = builder.clone(*op, clones);
      changeOrigin(clone, [](Origin &origin) {
        origin.phase = Phase::Backward;
        origin.isRecomputed = true;
      });
      clone->removeAttr(recomputeAttrName);
      note(clone);
    }
    for (OpOperand &operand : user->getOpOperands())
      operand.set(clones.lookupOrDefault(operand.get()));
  }

  /// The operations that must be rematerialised for the operands of `user`, and
  /// have not been yet.
  SmallVector<Operation *> missingFor(Operation *user) {
    SmallVector<Operation *> missing;
    auto add = [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (choice.contains(op) && asked.insert(op).second)
        missing.push_back(op);
    };
    llvm::for_each(user->getOperands(), add);
    for (size_t i = 0; i < missing.size(); ++i)
      llvm::for_each(missing[i]->getOperands(), add);
    return missing;
  }

  static void note(Operation *clone) {
    remark::passed(
        clone->getLoc(),
        remark::RemarkOpts::name("recomputed").category("tpsp-rematerialize"))
        << remark::reason(
               "rematerialised for the backward pass instead of saved")
        << remark::metric("tensor", tensorName(clone->getResult(0)));
  }

  /// Removes operations that only the backward pass used.
  void dropDead() {
    for (auto it = body.rbegin(); it != body.rend();) {
      Operation *op = &*it++;
      if (choice.contains(op) && op->use_empty())
        op->erase();
    }
  }

  Block &body;
  Choice choice;
  llvm::DenseMap<Operation *, size_t> position;
  llvm::DenseSet<Operation *> asked;
  IRMapping clones;
};

struct Rematerialize
    : public WithOptions<tpsp::impl::RematerializeBase<Rematerialize>,
                         &CompileOptions::rematerialize,
                         &CompileOptions::rematerializeLayers> {
  void runOnOperation() override {
    auto mode = llvm::StringSwitch<Mode>(options().rematerialize)
                    .Case("full", Mode::Full)
                    .Case("selective", Mode::Selective)
                    .Default(Mode::None);
    auto visit = [&](FunctionOpInterface function) {
      Rematerializer(function.getFunctionBody().front(), mode,
                     options().rematerializeLayers)
          .run();
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
