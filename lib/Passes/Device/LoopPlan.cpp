#include "LoopPlan.h"

using namespace mlir;
using namespace tpsp;

static LoopPlan::Form formOf(const BlockShape &shape, const ItemLoop &loop) {
  if (isSingle(shape, loop))
    return LoopPlan::Single;
  if (loop.sums.empty())
    return LoopPlan::Points;
  bool isOne = !shape.range && pointsOf(loop.extents(0), loop.kept) == 1;
  return isOne ? LoopPlan::OneSum : LoopPlan::Sums;
}

static LoopPlan planLoop(const BlockShape &shape, const ItemLoop &loop) {
  LoopPlan plan;
  plan.loop = &loop;
  plan.form = formOf(shape, loop);
  plan.extents = loop.extents(shape.range);
  if (plan.form == LoopPlan::Single)
    return plan;
  bool isSum = plan.form == LoopPlan::OneSum || plan.form == LoopPlan::Sums;
  if (isSum)
    plan.layout = chooseSumLayout(shape, loop);
  plan.dealt = isSum ? loop.summed : allDims(loop);
  plan.along = innermostOf(shape, loop, plan.dealt);
  // Neighbouring threads do not access neighbouring memory: one point at a
  // time.
  if (!isSum || plan.layout.threadsInnermost)
    plan.width = widthOf(shape, loop, plan.dealt);
  return plan;
}

SmallVector<unsigned> LoopPlan::known() const {
  SmallVector<unsigned> numbers;
  if (form == Single)
    numbers = loop->stored;
  if (form == Single || form == OneSum)
    numbers.append(loop->sums);
  return numbers;
}

/// The buffers for which a barrier is needed between `accesses` and those
/// `since` the last barrier.
static SmallVector<Value> conflicts(ArrayRef<Access> since,
                                    ArrayRef<Access> accesses) {
  SmallVector<Value> buffers;
  for (const Access &now : accesses)
    if (llvm::any_of(since, [&](const Access &before) {
          return now.buffer == before.buffer &&
                 (now.isWrite || before.isWrite) &&
                 (now.key.empty() || now.key != before.key);
        }))
      buffers.push_back(now.buffer);
  return buffers;
}

std::vector<LoopPlan> tpsp::planLoops(const BlockShape &shape,
                                      const ItemLoops &loops) {
  std::vector<LoopPlan> plans;
  SmallVector<Access> sinceBarrier, beforeBarrier;
  llvm::DenseSet<Value> known;
  for (const ItemStep &step : loops.steps) {
    if (step.operation)
      continue;
    LoopPlan plan = planLoop(shape, step.loop);
    SmallVector<Access> accesses = accessesOf(shape, step.loop, known);
    if (shape.threadsPerItem > 1) {
      plan.waitsFor = conflicts(sinceBarrier, accesses);
      plan.waitedFor = conflicts(beforeBarrier, accesses);
    }
    // Sums that are combined in memory have a barrier of their own.
    if (!plan.waitsFor.empty() || plan.layout.partials() > 1)
      beforeBarrier.append(std::exchange(sinceBarrier, {}));
    sinceBarrier.append(accesses);
    for (unsigned number : plan.known())
      known.insert(step.loop.output(number));
    plans.push_back(std::move(plan));
  }
  return plans;
}
