#include "MicroBatchShares.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::microbatch;

LogicalResult Shares::find() {
  for (Operation &op : function.getFunctionBody().front())
    if (auto indexed = dyn_cast<IndexedOpInterface>(op))
      structures.try_emplace(&op, indexed.getIndexStructure());
  findOfInputs();
  // A count is no summand, so the shares of its users are found anew.
  do {
    if (failed(findOnce()))
      return failure();
  } while (restarts);
  llvm::sort(counted, [](Value a, Value b) {
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  nested = findNestedCount();
  return success();
}

LogicalResult Shares::findOnce() {
  restarts = false;
  shares.clear();
  driven.clear();
  for (BlockArgument argument : function.getArguments())
    if (IdxAttr idx = getIdx(argument))
      if (std::optional<unsigned> dim = idx.dimOf(division.index))
        shares[argument] = {Share::Cut, *dim};
  // Shares are found forwards; an operation that needs an operand cut may
  // change what comes before it. A share is found once, so this ends.
  do {
    changed = false;
    for (Operation &op :
         function.getFunctionBody().front().without_terminator()) {
      if (failed(visit(&op)))
        return failure();
      if (restarts)
        return success();
    }
  } while (changed);
  return success();
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

void Shares::findOfInputs() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!function.getArgAttr(number, paramAttrName) &&
        !function.getArgAttr(number, cotangentAttrName))
      ofInputs.insert(argument);
  }
  for (Operation &op : function.getFunctionBody().front().without_terminator())
    if (structures.contains(&op) &&
        llvm::all_of(op.getOperands(),
                     [&](Value each) { return ofInputs.contains(each); }))
      ofInputs.insert(op.result_begin(), op.result_end());
}

bool Shares::count(Value sum) {
  // A sum of sums is the same in every part if these are.
  llvm::SetVector<Value> sums;
  sums.insert(sum);
  SmallVector<Value> found;
  for (size_t i = 0; i < sums.size(); ++i) {
    Operation *op = sums[i].getDefiningOp();
    if (driven.contains(op)) {
      if (!ofInputs.contains(sums[i]))
        return false;
      found.push_back(sums[i]);
      continue;
    }
    for (Value operand : op->getOperands())
      if (of(operand).kind == Share::Summand)
        sums.insert(operand);
  }
  restarts = true;
  llvm::append_range(counted, found);
  isCount.insert(found.begin(), found.end());
  return true;
}

Value Shares::findNestedCount() {
  llvm::DenseSet<Value> behind;
  auto isBehind = [&](Value value) {
    return isCounted(value) || behind.contains(value);
  };
  for (Operation &op :
       function.getFunctionBody().front().without_terminator()) {
    if (!llvm::any_of(op.getOperands(), isBehind))
      continue;
    for (Value result : op.getResults()) {
      if (isCounted(result))
        return result;
      behind.insert(result);
    }
  }
  return {};
}

SmallVector<Operation *> Shares::makersOf(Value count) const {
  SmallVector<Operation *> makers = {count.getDefiningOp()};
  llvm::DenseSet<Operation *> seen(makers.begin(), makers.end());
  for (size_t i = 0; i < makers.size(); ++i)
    for (Value operand : makers[i]->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (maker && of(operand).kind != Share::Same && seen.insert(maker).second)
        makers.push_back(maker);
    }
  llvm::sort(makers,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return makers;
}

//===----------------------------------------------------------------------===//
// Shares of results
//===----------------------------------------------------------------------===//

StringRef Shares::cutIndex(Operation *op) const {
  auto it = driven.find(op);
  if (it == driven.end())
    return "";
  return structures.find(op)->second.indices[it->second].name;
}

std::optional<unsigned> Shares::cutDim(Operation *op, unsigned i) const {
  auto it = driven.find(op);
  if (it == driven.end())
    return std::nullopt;
  return structures.find(op)->second.operands[i].dimOf(it->second);
}

LogicalResult Shares::visit(Operation *op) {
  if (!isa<IndexedOpInterface>(op))
    return checkForeign(op);
  const IndexStructure &structure = structures.find(op)->second;
  std::optional<IndexId> index;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), structure.operands))
    if (of(operand).kind == Share::Cut &&
        failed(drive(op, tensor.indices[of(operand).dim], index)))
      return failure();
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), structure.results))
    if (of(result).kind == Share::Cut &&
        failed(drive(op, tensor.indices[of(result).dim], index)))
      return failure();
  return index ? visitDriven(op, structure, *index) : visitSums(op);
}

LogicalResult Shares::checkForeign(Operation *op) {
  for (Value operand : op->getOperands())
    if (of(operand).kind != Share::Same)
      return op->emitOpError("has no index structure by which it could be "
                             "cut into micro-batches; write placements, and "
                             "tpsp.reshard where one changes");
  return success();
}

LogicalResult Shares::drive(Operation *op, IndexId id,
                            std::optional<IndexId> &index) {
  const IndexStructure &structure = structures.find(op)->second;
  const auto &indices = structure.indices;
  if (indices[id].whole || structure.isMinor(id))
    return op->emitOpError("needs index '")
           << indices[id].name << "' whole, which micro-batches cut; cut "
           << "another index (--micro-batch-index), or run without "
           << "micro-batches";
  if (index && *index != id)
    return op->emitOpError("relates positions of the batch to each other ('")
           << indices[*index].name << "' and '" << indices[id].name
           << "'), and a micro-batch has only its own; run without "
              "micro-batches";
  index = id;
  return success();
}

LogicalResult Shares::visitDriven(Operation *op,
                                  const IndexStructure &structure,
                                  IndexId index) {
  driven[op] = index;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (of(operand).kind == Share::Summand)
      return count(operand) ? success() : refuseSummand(op, i);
    std::optional<unsigned> dim = structure.operands[i].dimOf(index);
    if (!dim)
      continue;
    if (failed(checkEven(op, structure, index, structure.operands[i], *dim)))
      return failure();
    demand(operand, *dim);
  }
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), structure.results))
    if (failed(visitResult(structure, index, result, tensor)))
      return failure();
  return success();
}

LogicalResult Shares::visitResult(const IndexStructure &structure,
                                  IndexId index, Value result,
                                  const IndexStructure::Tensor &tensor) {
  Operation *op = result.getDefiningOp();
  std::optional<unsigned> dim = tensor.dimOf(index);
  if (dim && failed(checkShards(result, *dim)))
    return failure();
  if (dim) {
    set(result, {Share::Cut, *dim});
    return checkEven(op, structure, index, tensor, *dim);
  }
  if (structure.reduction != Reduction::Sum)
    return op->emitOpError("takes the maximum over '")
           << structure.indices[index].name
           << "', which micro-batches cut, and maxima of parts do not add up";
  set(result, {Share::Summand});
  return success();
}

LogicalResult Shares::checkEven(Operation *op, const IndexStructure &structure,
                                IndexId index,
                                const IndexStructure::Tensor &tensor,
                                unsigned dim) {
  int64_t pieces = division.blocks * division.parts;
  if (tensor.shape[dim] % pieces == 0)
    return success();
  return op->emitOpError("has index '")
         << structure.indices[index].name << "' of extent " << tensor.shape[dim]
         << ", which " << division.blocks << " shards of " << division.parts
         << " micro-batches do not divide; choose another number of "
            "micro-batches";
}

LogicalResult Shares::checkShards(Value value, unsigned dim) {
  auto type = typeOf(value);
  Mesh mesh = meshOf(function);
  Placement placement = placementOf(type, mesh);
  int64_t ranks = mesh.groupSize(placement.dims[dim]);
  if (ranks == 1 || type.getDimSize(dim) % (ranks * division.parts) == 0)
    return success();
  return value.getDefiningOp()->emitOpError("has index '")
         << indexNames(type)[dim] << "' of extent " << type.getDimSize(dim)
         << " on " << mesh.names(placement.dims[dim]) << " (" << ranks
         << " ranks), which " << division.parts
         << " micro-batches do not divide; choose another number of "
            "micro-batches";
}

LogicalResult Shares::visitSums(Operation *op) {
  auto indexed = cast<IndexedOpInterface>(op);
  unsigned summands = 0, first = 0;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (of(operand).kind != Share::Summand)
      continue;
    first = summands++ ? first : i;
  }
  if (summands == 0)
    return success();
  bool all = summands == op->getNumOperands();
  // A sum of summands and others has the others once, besides all parts.
  bool passes = indexed.isSumOfOperands() ||
                (indexed.getLinearity() == Linearity::Joint && all) ||
                (indexed.getLinearity() == Linearity::Multi && summands == 1);
  if (!passes) {
    bool isCount = llvm::any_of(op->getOperands(), [&](Value operand) {
      return of(operand).kind == Share::Summand && count(operand);
    });
    return isCount ? success() : refuseSummand(op, first);
  }
  set(op->getResult(0), {Share::Summand});
  return success();
}

/// The gradient that an operation of the backward pass is a step of: the first
/// value behind it that another place in the source takes.
static Value gradientMadeBy(Operation *op) {
  auto place = [](Operation *each) {
    return each->getLoc()->findInstanceOf<FileLineColRange>();
  };
  for (Operation *step = op;;) {
    Value value = step->getResult(0);
    auto isNext = [&](Operation *user) {
      return isBackward(user) && user->getNumResults() > 0;
    };
    auto next = llvm::find_if(value.getUsers(), isNext);
    if (next == value.user_end() || place(*next) != place(op))
      return value;
    step = *next;
  }
}

LogicalResult Shares::refuseSummand(Operation *op, unsigned operand) {
  if (isBackward(op))
    return op->emitOpError("makes '")
           << tensorName(gradientMadeBy(op)) << "' of a sum over '"
           << division.index
           << "', which is complete only after the last micro-batch; let the "
              "tensor of this gradient have index '"
           << division.index << "' (tpsp.broadcast), or run without "
           << "micro-batches";
  InFlightDiagnostic diag = op->emitOpError("operand #");
  diag << operand << " is a sum over '" << division.index
       << "', which is complete only after the last micro-batch, and '"
       << op->getName() << "' is not linear in it; keep what follows the sum "
       << "linear (a mean is tpsp.reduce and tpsp.scale), or run without "
       << "micro-batches";
  diag.attachNote(op->getOperand(operand).getLoc()) << "the sum is made here";
  return diag;
}

void Shares::demand(Value value, unsigned dim) {
  Operation *op = value.getDefiningOp();
  if (of(value).kind != Share::Same || !op || !structures.contains(op))
    return;
  const IndexStructure &structure = structures.find(op)->second;
  unsigned number = cast<OpResult>(value).getResultNumber();
  IndexId index = structure.results[number].indices[dim];
  if (!structure.indices[index].whole && !structure.isMinor(index))
    set(value, {Share::Cut, dim});
}

void Shares::set(Value value, Share share) {
  if (of(value) == share || isCounted(value))
    return;
  shares[value] = share;
  changed = true;
}
