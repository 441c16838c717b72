#include "KernelGrouping.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tpsp;

/// With more open groups, one is closed: values that wait in groups stay in
/// memory longer.
static constexpr size_t mostGroups = 4;

/// The most operations that are taken ahead together.
static constexpr size_t mostTaken = 8;

static int64_t bytesOf(Value value) {
  auto tensor = cast<RankedTensorType>(value.getType());
  return tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
}

static bool areOfOnePhase(Operation *a, Operation *b) {
  return phaseOf(a) == phaseOf(b) && originOf(a).segment == originOf(b).segment;
}

int64_t KernelGrouping::groupOf(Operation *op) const {
  auto found = groups.find(op);
  return found == groups.end() ? -1 : int64_t(found->second);
}

bool KernelGrouping::addTo(size_t group, LoopOpInterface op) {
  if (!open[group].accepts(op))
    return false;
  open[group].add(op);
  groups[op] = group;
  return true;
}

bool KernelGrouping::add(LoopOpInterface op) {
  if (!open.empty() && !areOfOnePhase(op, groups.begin()->first))
    return false;
  int64_t first = 0;
  for (Value operand : op->getOperands())
    first = std::max(first, groupOf(operand.getDefiningOp()));
  for (size_t group = first; group < open.size(); ++group)
    if (addTo(group, op))
      return true;
  if (open.size() == mostGroups)
    return false;
  open.emplace_back(limits);
  remakeOperands(op);
  return addTo(open.size() - 1, op);
}

/// Whether a producer reads only tensors that are in memory anyway, at most as
/// much as its result has, and little else.
bool KernelGrouping::isCheapToRemake(Operation *producer) const {
  int64_t bytes = bytesOf(producer->getResult(0)), read = 0;
  for (Value operand : producer->getOperands()) {
    bool isThere = groupOf(operand.getDefiningOp()) < 0;
    if (!isThere && bytesOf(operand) > bytes / 16)
      return false;
    read += bytesOf(operand);
  }
  return isPointwise(producer) && read <= bytes + bytes / 8;
}

/// A sum over rows cannot share a kernel with operations that work row by row,
/// whose results it reads from memory. It rematerialises operands that are
/// cheap to compute.
void KernelGrouping::remakeOperands(LoopOpInterface op) {
  KernelGroup alone;
  alone.add(op);
  if (!alone.isColumnSum())
    return;
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *producer = operand.get().getDefiningOp();
    if (groupOf(producer) >= 0 && isCheapToRemake(producer))
      remakeOperand(op, operand);
  }
}

void KernelGrouping::remakeOperand(LoopOpInterface op, OpOperand &operand) {
  Value before = operand.get();
  OpBuilder b(op);
  auto clone = cast<LoopOpInterface>(b.clone(*before.getDefiningOp()));
  operand.set(clone->getResult(0));
  KernelGroup with = open.back();
  with.add(clone);
  if (!with.accepts(op)) {
    operand.set(before);
    clone->erase();
    return;
  }
  open.back() = std::move(with);
  groups[clone] = open.size() - 1;
}

//===----------------------------------------------------------------------===//
// Later consumers
//===----------------------------------------------------------------------===//

/// Whether a kernel in the place of `group` may read the value.
bool KernelGrouping::isThere(Value value, size_t group) const {
  Operation *op = value.getDefiningOp();
  if (!op || passed.contains(op))
    return true;
  int64_t made = groupOf(op);
  return made >= 0 && size_t(made) <= group;
}

/// Collects `op` and the operations that it needs first, in order. Fails unless
/// all of them are loops that serve nothing else.
bool KernelGrouping::gather(Operation *op, Operation *producer, size_t group,
                            SmallVectorImpl<Operation *> &wanted) const {
  if (llvm::is_contained(wanted, op))
    return true;
  if (groups.contains(op) || passed.contains(op) || !isLoop(op) ||
      wanted.size() == mostTaken || !areOfOnePhase(op, producer))
    return false;
  for (Value operand : op->getOperands()) {
    if (isThere(operand, group))
      continue;
    Operation *other = operand.getDefiningOp();
    if (!llvm::all_of(other->getUsers(),
                      [&](Operation *user) { return user == op; }))
      return false;
    if (!gather(other, producer, group, wanted))
      return false;
  }
  wanted.push_back(op);
  return true;
}

void KernelGrouping::takeConsumersOf(size_t group, Operation *producer) {
  SmallVector<Operation *> wanted;
  int64_t bytes = 0;
  for (Operation *user : producer->getUsers()) {
    if (groupOf(user) == int64_t(group))
      continue;
    if (!gather(user, producer, group, wanted))
      return;
    bytes += bytesOf(user->getResult(0));
  }
  if (wanted.empty() || bytes > bytesOf(producer->getResult(0)))
    return;
  KernelGroup with = open[group];
  for (Operation *op : wanted) {
    auto loop = cast<LoopOpInterface>(op);
    if (!with.accepts(loop))
      return;
    with.add(loop);
  }
  open[group] = std::move(with);
  for (Operation *op : wanted) {
    groups[op] = group;
    taken.insert(op);
  }
}

void KernelGrouping::takeConsumers(size_t group) {
  // The list grows: a consumer's consumers may follow it.
  for (size_t i = 0; i < open[group].getOps().size(); ++i)
    takeConsumersOf(group, open[group].getOps()[i]);
}

//===----------------------------------------------------------------------===//
// Operations that move to their readers
//===----------------------------------------------------------------------===//

/// The elementwise operations of group `from` of which no group reads the
/// result but `to`, directly or through each other, in their order.
SmallVector<Operation *> KernelGrouping::readOnlyBy(size_t from,
                                                    size_t to) const {
  llvm::SetVector<Operation *> found;
  for (Operation *op : llvm::reverse(open[from].getOps())) {
    bool isRead = false, isReadElsewhere = !isPointwise(op);
    for (Operation *user : op->getUsers()) {
      bool isThere = groupOf(user) == int64_t(to) || found.contains(user);
      isRead |= isThere;
      isReadElsewhere |= !isThere && groupOf(user) >= 0;
    }
    if (isRead && !isReadElsewhere)
      found.insert(op);
  }
  SmallVector<Operation *> moved = found.takeVector();
  std::reverse(moved.begin(), moved.end());
  return moved;
}

/// Whether fewer bytes pass through memory if `moved` are in `to`: those that
/// `from` writes for `to` to read, and those that both read.
bool KernelGrouping::savesMemory(size_t from, size_t to,
                                 ArrayRef<Operation *> moved) const {
  const llvm::SmallPtrSet<Operation *, 16> isMoved(moved.begin(), moved.end());
  llvm::SmallPtrSet<Value, 16> readBefore;
  int64_t before = 0, after = 0;
  for (Operation *op : open[from].getOps()) {
    int64_t bytes = bytesOf(op->getResult(0));
    auto isReadBy = [&](auto reads) {
      return llvm::any_of(op->getUsers(), reads) ? 2 * bytes : 0;
    };
    before +=
        isReadBy([&](Operation *user) { return groupOf(user) == int64_t(to); });
    if (isMoved.contains(op)) {
      after += isReadBy([&](Operation *user) { return groupOf(user) < 0; }) / 2;
      continue;
    }
    after += isReadBy([&](Operation *user) {
      return groupOf(user) == int64_t(to) || isMoved.contains(user);
    });
    readBefore.insert_range(op->getOperands());
  }
  llvm::SmallPtrSet<Value, 16> readTwice;
  for (Operation *op : moved)
    for (Value operand : op->getOperands())
      if (readBefore.contains(operand) && readTwice.insert(operand).second)
        after += bytesOf(operand);
  return after < before;
}

/// Moves the operations that only `to` reads into it, if it has room and if
/// that saves memory.
void KernelGrouping::moveTo(size_t from, size_t to) {
  SmallVector<Operation *> moved = readOnlyBy(from, to);
  if (moved.empty() || open[to].isColumnSum() || !savesMemory(from, to, moved))
    return;
  KernelGroup with(limits), rest(limits);
  for (ArrayRef<Operation *> ops : {ArrayRef(moved), open[to].getOps()})
    for (Operation *op : ops) {
      auto loop = cast<LoopOpInterface>(op);
      if (!with.accepts(loop, /*isMove=*/true))
        return;
      with.add(loop);
    }
  // With another grid, rows would become columns.
  if (!llvm::equal(with.getGrid(), open[to].getGrid()))
    return;
  for (Operation *op : open[from].getOps()) {
    auto loop = cast<LoopOpInterface>(op);
    if (llvm::is_contained(moved, op))
      continue;
    if (!rest.accepts(loop, /*isMove=*/true))
      return;
    rest.add(loop);
  }
  for (Operation *op : moved)
    groups[op] = to;
  open[to] = std::move(with);
  open[from] = std::move(rest);
}

void KernelGrouping::moveToReaders(size_t from) {
  for (size_t to = from + 1; to < open.size(); ++to)
    moveTo(from, to);
}

SmallVector<KernelGroup> KernelGrouping::take() {
  for (size_t group = open.size(); group-- > 0;)
    moveToReaders(group);
  for (size_t group = 0; group < open.size(); ++group)
    takeConsumers(group);
  for (auto [op, group] : groups)
    passed.insert(op);
  groups.clear();
  llvm::erase_if(open, [](const KernelGroup &group) { return group.empty(); });
  return std::exchange(open, {});
}
