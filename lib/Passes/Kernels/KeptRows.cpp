#include "KeptRows.h"

#include "DeviceLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

Type tpsp::computeType(Type element) {
  return element.isF64() || element.isInteger()
             ? element
             : Float32Type::get(element.getContext());
}

bool tpsp::isMaximum(LoopOpInterface op) {
  return cast<IndexedOpInterface>(*op).getReduction() == Reduction::Max;
}

Type tpsp::accumulatorType(const KernelLoops &kernel, LoopOpInterface op) {
  Type element = computeType(getElementTypeOrSelf(op->getResult(0)));
  bool isWide = kernel.widensSums && kernel.reducesAcrossRows(op) &&
                !isMaximum(op) && isa<FloatType>(element);
  return isWide ? Float64Type::get(element.getContext()) : element;
}

SmallVector<KeptRow> tpsp::keptRowsOf(const KernelGroup &group,
                                      const KernelLoops &kernel) {
  llvm::DenseSet<Operation *> stored;
  for (const KernelLoop &loop : kernel.loops)
    stored.insert(loop.stored.begin(), loop.stored.end());
  SmallVector<KeptRow> rows;
  for (Operation *each : group.getOps()) {
    auto op = cast<LoopOpInterface>(each);
    Value result = op->getResult(0);
    Type element = getElementTypeOrSelf(result);
    bool reduces = kernel.reduces(op);
    Type kept = reduces ? accumulatorType(kernel, op) : computeType(element);
    bool isWidened = reduces && kept != element;
    bool isStored = stored.contains(op) || reduces;
    if (isStored && (!kernel.isOutput(result) || isWidened))
      rows.push_back({op, kernel.rowOf(result.getType()), kept});
  }
  return rows;
}

//===----------------------------------------------------------------------===//
// In a block's memory
//===----------------------------------------------------------------------===//

/// The indices with more than one position, in order.
static SmallVector<LoopIndex> longOnes(ArrayRef<LoopIndex> indices) {
  auto isLong = [](const LoopIndex &index) { return index.extent > 1; };
  return llvm::to_vector(llvm::make_filter_range(indices, isLong));
}

static int64_t elementsOf(const KeptRow &row, const KernelLoops &kernel) {
  int64_t elements = 1;
  for (const LoopIndex &index : row.indices)
    elements *= kernel.range == index ? 1 : index.extent;
  return elements;
}

/// Whether threads share the loop's points. They do not if it sums to several.
static bool isDealtOut(const KernelLoop &loop, const KernelLoops &kernel) {
  return llvm::all_of(loop.stored, [&](LoopOpInterface op) {
    return !kernel.reduces(op) ||
           longOnes(kernel.rowOf(op->getResult(0).getType())).empty();
  });
}

/// Whether every loop that uses the row visits its points in the same order, so
/// that each thread always has the same points.
static bool isDividedAlike(const KeptRow &row, const KernelLoops &kernel) {
  Value value = LoopOpInterface(row.op)->getResult(0);
  SmallVector<LoopIndex> points = longOnes(row.indices);
  return !kernel.reduces(row.op) &&
         llvm::all_of(kernel.loops, [&](const KernelLoop &loop) {
           bool touches = llvm::is_contained(loop.read, value) ||
                          llvm::is_contained(loop.stored, row.op);
           return !touches || (isDealtOut(loop, kernel) &&
                               longOnes(loop.indices) == points);
         });
}

BlockRows tpsp::blockRowsOf(const KernelGroup &group) {
  KernelLoops kernel = findLoops(group);
  BlockRows rows;
  for (const KeptRow &row : keptRowsOf(group, kernel)) {
    int64_t elements = elementsOf(row, kernel);
    if (elements == 1)
      continue;
    int64_t bytes = int64_t(
        llvm::alignTo(elements * row.element.getIntOrFloatBitWidth() / 8,
                      BlockRows::alignment));
    if (kernel.range) {
      rows.ofThread += bytes;
      continue;
    }
    rows.all += bytes;
    if (!isDividedAlike(row, kernel))
      rows.shared += bytes;
  }
  return rows;
}

bool BlockRows::fit(int64_t bytes) const {
  return ofThread <= threadMemoryBytes && (all <= bytes || shared <= bytes);
}
