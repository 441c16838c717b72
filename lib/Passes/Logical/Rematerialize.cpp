// tpsp-rematerialize: compute parts of the forward pass again in the backward
// pass instead of saving their results.
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace tpsp {
#define GEN_PASS_DEF_REMATERIALIZE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

enum class Mode { None, Selective, Full };

bool isBackward(Operation *op) { return op->hasAttr(backwardAttrName); }

/// The outermost of the calls that an operation was inlined from, as a place in
/// the source; null if it stands in the function itself.
LocationAttr callOf(Operation *op) {
  LocationAttr call, loc = op->getLoc();
  while (true) {
    if (auto named = dyn_cast<NameLoc>(loc)) {
      loc = named.getChildLoc();
      continue;
    }
    auto site = dyn_cast<CallSiteLoc>(loc);
    if (!site)
      return call;
    call = loc = site.getCaller();
  }
}

/// Which operations of the forward pass a mode does again.
class Choice {
  /// Loops that the backward pass does again for one tensor.
  static constexpr size_t mostParts = 8;
  /// So many times smaller is narrow.
  static constexpr int64_t narrowShare = 16;

public:
  Choice(Block &body, Mode mode) {
    for (Operation &op : body.without_terminator())
      if (!isBackward(&op) && isMemoryEffectFree(&op))
        forward.push_back(&op);
    if (mode == Mode::Full)
      chooseInsideLayers();
    if (mode == Mode::Selective)
      chooseMarked();
    chooseFree();
  }

  bool contains(Operation *op) const { return op && redone.contains(op); }

private:
  /// What is marked, and views of it: their bytes are not kept either.
  void chooseMarked() {
    for (Operation *op : forward) {
      auto indexed = dyn_cast<IndexedOpInterface>(op);
      bool isView = indexed && indexed.isView();
      if (op->hasAttr(recomputeAttrName) ||
          (isView && contains(op->getOperand(0).getDefiningOp())))
        redone.insert(op);
    }
  }

  /// What is free. It is made element by element of a tensor that is saved, or
  /// that takes less memory. The backward pass reads it element by element
  /// only. Then the reading loops rematerialise it, and it is neither written
  /// nor saved. Or it is a view of a saved tensor, which may be a view of what
  /// was gathered for the forward pass.
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

  /// Those that make `op`'s result of such a tensor, the last first; none if
  /// there is none.
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

  /// The operand that has the result's elements, where they lie. Others are
  /// narrow: a row's maximum. Null if `op` does not go element by element.
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

  /// A view that lies where its operand does, not where the user asked for it.
  static bool isFreeView(Operation *op) {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    return indexed && indexed.isView() &&
           getResultAttr(op->getResult(0), proposedAttrName) &&
           llvm::any_of(op->getUsers(), isBackward);
  }

  /// Whether it makes one element of each of the value's.
  static bool goesThrough(Operation *op, Value value) {
    return isa<LoopOpInterface>(op) && op->getNumResults() == 1 &&
           getIdx(op->getResult(0)).getNames() == getIdx(value).getNames();
  }

  bool isKeptAnyway(Value value) const {
    return !contains(value.getDefiningOp()) &&
           llvm::any_of(value.getUsers(), isBackward);
  }

  /// By the backward pass, and by what it does again.
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

  /// Whatever one layer makes for itself. What it hands on is an input of
  /// another layer, or is returned and lasts anyhow. A program without calls is
  /// one layer; in one with calls, what stands outside of them is none.
  void chooseInsideLayers() {
    bool hasCalls = llvm::any_of(
        forward, [](Operation *op) { return callOf(op) != nullptr; });
    for (Operation *op : forward)
      if ((!hasCalls || callOf(op)) && !isHandedOn(op))
        redone.insert(op);
  }

  static bool isHandedOn(Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      if (isBackward(user))
        return false;
      return user->hasTrait<OpTrait::IsTerminator>() ||
             callOf(user) != callOf(op);
    });
  }

  SmallVector<Operation *> forward;
  llvm::DenseSet<Operation *> redone;
};

/// Before: the backward pass uses what the forward pass made. After: it makes
/// again what was chosen, from what is kept. Saved memory shrinks by what is no
/// longer used, work and collectives grow by what is redone.
class Rematerializer {
public:
  Rematerializer(Block &body, Mode mode) : body(body), choice(body, mode) {
    for (Operation &op : body)
      position[&op] = position.size();
  }

  void run() {
    // Clones stand before the operation that asked for them: none is visited.
    for (Operation &op : body)
      if (isBackward(&op))
        redoOperandsOf(&op);
    dropDead();
  }

private:
  /// Each part is rematerialised once, where the backward pass first needs it.
  void redoOperandsOf(Operation *user) {
    SmallVector<Operation *> missing = missingFor(user);
    llvm::sort(missing, [&](Operation *a, Operation *b) {
      return position[a] < position[b];
    });
    OpBuilder builder(user);
    for (Operation *op : missing) {
      Operation *clone = builder.clone(*op, clones);
      clone->setAttr(backwardAttrName, builder.getUnitAttr());
      clone->setAttr(recomputedAttrName, builder.getUnitAttr());
      clone->removeAttr(recomputeAttrName);
      note(clone);
    }
    for (OpOperand &operand : user->getOpOperands())
      operand.set(clones.lookupOrDefault(operand.get()));
  }

  /// What has to be rematerialised for the operands of `user` and was not yet.
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

  /// What only the backward pass had used.
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
                         &CompileOptions::rematerialize> {
  void runOnOperation() override {
    auto mode = llvm::StringSwitch<Mode>(options().rematerialize)
                    .Case("full", Mode::Full)
                    .Case("selective", Mode::Selective)
                    .Default(Mode::None);
    auto visit = [&](FunctionOpInterface function) {
      Rematerializer(function.getFunctionBody().front(), mode).run();
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
