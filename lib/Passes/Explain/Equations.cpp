#include "Equations.h"

#include "Passes/Collectives/Ledger.h"
#include "Passes/Program/AdjointMark.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tpsp;

/// A collective on one tensor.
static bool isSingle(Operation *op) {
  return isa_and_nonnull<CollectiveOpInterface>(op) &&
         op->getNumOperands() == 1;
}

Value tpsp::sourceOfMoved(Value value) {
  while (isSingle(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

Value tpsp::namedValue(Value value) {
  while (isa_and_nonnull<CollectiveOpInterface>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(
        cast<OpResult>(value).getResultNumber());
  return value;
}

namespace {

EquationTensor tensorOf(Value value) {
  return {namedValue(value), typeOf(value)};
}

/// Which equation each collective stands under. A collective that was inserted
/// to move an equation's result has the location of that equation and stands
/// under it. Any other collective stands under the first equation that uses its
/// result. A collective whose result is only returned stands under none.
class Owners {
public:
  explicit Owners(Block &block) {
    for (Operation &op : block)
      if (isSingle(&op) && isOfResult(&op))
        add(&op, sourceOfMoved(op.getOperand(0)).getDefiningOp());
    for (Operation &op : block.without_terminator())
      if (!isa<CollectiveOpInterface>(op))
        for (Value operand : op.getOperands())
          claim(operand, &op);
  }

  bool hasOwner(Operation *collective) const { return owner.count(collective); }
  ArrayRef<Operation *> ownedBy(Operation *equation) const {
    auto it = owned.find(equation);
    return it == owned.end() ? ArrayRef<Operation *>() : it->second;
  }

  /// An operand as it is before the collectives of its user.
  Value before(Value operand) const {
    while (isSingle(operand.getDefiningOp()) &&
           !isOfResult(operand.getDefiningOp()))
      operand = operand.getDefiningOp()->getOperand(0);
    return operand;
  }
  /// A result as it is after its own collectives.
  Value after(Value result) const {
    for (Operation *collective : ownedBy(result.getDefiningOp()))
      if (collective->getOperand(0) == result && isOfResult(collective))
        result = collective->getResult(0);
    return result;
  }

private:
  static bool isOfResult(Operation *collective) {
    Operation *source =
        sourceOfMoved(collective->getOperand(0)).getDefiningOp();
    return source && source->getLoc() == collective->getLoc();
  }

  void add(Operation *collective, Operation *equation) {
    if (owner.try_emplace(collective, equation).second)
      owned[equation].push_back(collective);
  }

  /// The collectives that make `operand`, in the order in which they run.
  void claim(Value operand, Operation *user) {
    SmallVector<Operation *> chain;
    for (; isSingle(operand.getDefiningOp());
         operand = operand.getDefiningOp()->getOperand(0))
      chain.push_back(operand.getDefiningOp());
    for (Operation *collective : llvm::reverse(chain))
      add(collective, user);
  }

  llvm::DenseMap<Operation *, Operation *> owner;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> owned;
};

/// Parts of adjoints that are read by their own adjoint alone, so that they can
/// stand in its equation. The adjoint of a product or of a sum is equations
/// itself.
class Parts {
public:
  explicit Parts(Block &block) {
    for (Operation &op : llvm::reverse(block.without_terminator()))
      if (isInside(&op))
        inside.insert(&op);
  }

  bool contains(Operation *op) const { return op && inside.contains(op); }

  /// The parts that `root` stands for, in program order.
  SmallVector<Operation *> behind(Operation *root) const {
    SmallVector<Operation *> found;
    llvm::DenseSet<Operation *> seen;
    collect(root, seen, found);
    return found;
  }

private:
  static bool isInside(Operation *op) {
    std::optional<AdjointMark> mark = adjointMark(op->getLoc());
    if (!mark || isa<CollectiveOpInterface>(op) || op->use_empty() ||
        op->getLoc() != mark->location)
      return false;
    return allReadWithin(op, mark->location);
  }

  static bool allReadWithin(Operation *op, Location adjoint) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      if (isSingle(user))
        return allReadWithin(user, adjoint);
      std::optional<AdjointMark> mark = adjointMark(user->getLoc());
      return mark && mark->location == adjoint;
    });
  }

  void collect(Operation *op, llvm::DenseSet<Operation *> &seen,
               SmallVector<Operation *> &found) const {
    for (Value operand : op->getOperands()) {
      Operation *part = sourceOfMoved(operand).getDefiningOp();
      if (!contains(part) || !seen.insert(part).second)
        continue;
      collect(part, seen, found);
      found.push_back(part);
    }
  }

  llvm::DenseSet<Operation *> inside;
};

std::string phaseTextOf(Operation *op) {
  std::string phase = nameOf(tpsp::phaseOf(op));
  std::optional<int64_t> part = originOf(op).part;
  if (part && op->getParentOp()->hasAttr(microBatchesAttrName))
    phase += ", each micro-batch";
  else if (part)
    phase += ", micro-batch " + std::to_string(*part);
  return phase;
}

class EquationBuilder {
public:
  EquationBuilder(Block &block, bool showsParts) : block(block), owners(block) {
    if (!showsParts)
      parts.emplace(block);
  }

  std::vector<Equation> build() {
    for (Operation &op : block.without_terminator()) {
      if (owners.hasOwner(&op) || (parts && parts->contains(&op)))
        continue;
      if (auto collective = dyn_cast<CollectiveOpInterface>(op))
        addAlone(collective);
      else if (op.getNumResults() > 0 && getIdx(op.getResult(0)))
        add(&op);
    }
    return std::move(equations);
  }

private:
  void addAlone(CollectiveOpInterface collective) {
    Equation equation;
    equation.phase = phaseTextOf(collective);
    equation.collectives.push_back(collective);
    equations.push_back(std::move(equation));
  }

  void add(Operation *op) {
    Equation equation;
    equation.op = op;
    equation.phase = phaseTextOf(op);
    for (Value result : op->getResults())
      if (op->getNumResults() == 1 || !result.use_empty())
        equation.results.push_back(tensorOf(owners.after(result)));
    SmallVector<Operation *> behind;
    if (parts)
      behind = parts->behind(op);
    if (behind.empty())
      describe(op, equation);
    else
      describeAdjoint(op, behind, equation);
    behind.push_back(op);
    for (Operation *part : behind)
      addMovements(part, equation);
    equations.push_back(std::move(equation));
  }

  void describe(Operation *op, Equation &equation) {
    for (Value operand : op->getOperands())
      equation.operands.push_back(tensorOf(owners.before(operand)));
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    if (indexed && indexed.isSumOfProducts())
      equation.sign = "·";
    else if (indexed && indexed.isSumOfOperands())
      equation.sign = "+";
    if (!equation.sign.empty())
      return;
    equation.function = op->getName().stripDialect().str();
    for (NamedAttribute attribute : op->getAttrs())
      // Others are marks for passes: tpsp.origin and the like.
      if (!attribute.getNameDialect())
        equation.attributes.push_back(attribute);
  }

  /// Sets the operands to the values that the adjoint's parts read from
  /// outside.
  void describeAdjoint(Operation *op, ArrayRef<Operation *> behind,
                       Equation &equation) {
    equation.function = (adjointMark(op->getLoc())->operation + "'").str();
    llvm::SetVector<Value> read;
    auto readBy = [&](Operation *part) {
      for (Value operand : part->getOperands())
        if (!parts->contains(sourceOfMoved(operand).getDefiningOp()))
          read.insert(owners.before(operand));
    };
    llvm::for_each(behind, readBy);
    readBy(op);
    // Gradients come first, then values of the forward pass.
    for (Value value : read)
      equation.operands.push_back(tensorOf(value));
    llvm::stable_sort(equation.operands,
                      [](const EquationTensor &a, const EquationTensor &b) {
                        return isOfBackward(a.named) && !isOfBackward(b.named);
                      });
  }

  static bool isOfBackward(Value value) {
    Operation *op = value.getDefiningOp();
    return op ? isBackward(op) && !isRecomputed(op)
              : isCotangent(cast<BlockArgument>(value));
  }
  static bool isCotangent(BlockArgument argument) {
    auto function =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return function &&
           function.getArgAttr(argument.getArgNumber(), cotangentAttrName);
  }

  void addMovements(Operation *op, Equation &equation) {
    ArrayRef<Operation *> owned = owners.ownedBy(op);
    for (Operation *collective : owned)
      // If adjoints share a part, the first says what moves for it.
      if (said.insert(collective).second)
        equation.collectives.push_back(cast<CollectiveOpInterface>(collective));
    for (Value operand :
         llvm::SetVector<Value>(op->operand_begin(), op->operand_end()))
      if (operand != owners.before(operand) &&
          !llvm::is_contained(owned, operand.getDefiningOp()))
        equation.present.push_back(tensorOf(operand));
  }

  Block &block;
  Owners owners;
  std::optional<Parts> parts;
  llvm::DenseSet<Operation *> said;
  std::vector<Equation> equations;
};

} // namespace

std::vector<Equation> tpsp::equationsOf(FunctionOpInterface function,
                                        bool showsParts) {
  return EquationBuilder(function.getFunctionBody().front(), showsParts)
      .build();
}

std::string tpsp::textOf(NamedAttribute attribute) {
  std::string text = attribute.getName().getValue().str();
  llvm::raw_string_ostream stream(text);
  if (auto string = dyn_cast<StringAttr>(attribute.getValue()))
    stream << "=" << string.getValue();
  else if (auto number = dyn_cast<FloatAttr>(attribute.getValue()))
    stream << "=" << llvm::format("%.4g", number.getValueAsDouble());
  else if (auto integer = dyn_cast<IntegerAttr>(attribute.getValue()))
    stream << "=" << integer.getInt();
  else if (!isa<UnitAttr>(attribute.getValue()))
    stream << "=" << attribute.getValue();
  return text;
}
