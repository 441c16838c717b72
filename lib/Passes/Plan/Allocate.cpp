// tpsp-allocate: assigns offsets in one arena to all buffers.
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "tpsp/Schedule/ArenaPlan.h"
#include "tpsp/Schedule/StageOrder.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_ALLOCATE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Keeps values that the prologue makes for the micro-batches until the last of
/// these has ended. The micro-batch's last command counts as their reader.
Plan withLastReaders(const Plan &plan) {
  Plan result = plan;
  std::vector<bool> isMade(plan.buffers.size());
  int64_t last = -1;
  for (auto [i, command] : llvm::enumerate(plan.commands))
    if (plan.segments[command.segment].isRepeated)
      last = int64_t(i);
  if (last < 0)
    return result;
  for (const PlanCommand &command : plan.commands)
    for (const PlanAccess &access : command.accesses) {
      const PlanBuffer &buffer = plan.buffers[access.buffer];
      bool isRepeated = plan.segments[command.segment].isRepeated;
      if (buffer.lasts() || isRepeated != isMade[access.buffer]) {
        continue;
      }
      if (isRepeated)
        result.commands[last].accesses.push_back(
            {access.buffer, {0, buffer.bytes}, /*isWrite=*/false});
      isMade[access.buffer] =
          !isRepeated &&
          plan.segments[command.segment].work == SegmentWork::Prologue;
    }
  return result;
}

struct Allocate : public tpsp::impl::AllocateBase<Allocate> {
  using Base::Base;
  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>()) {
      if (program.getStageAxis()) {
        allocate(program,
                 planStageArena(getChildAnalysis<PlanAnalysis>(program).plan));
        continue;
      }
      Plan plan = withLastReaders(getChildAnalysis<PlanAnalysis>(program).plan);
      HappensBefore before;
      if (auto fault = HappensBefore::analyse(plan, before)) {
        emitErrorAt(program)
            << "command " << fault->command << ' ' << fault->message;
        return signalPassFailure();
      }
      allocate(program, planArena(plan, before));
    }
  }

  static void allocate(plan::ProgramOp program, const ArenaPlan &arena) {
    auto buffers = program.getBody().front().getOps<plan::BufferOp>();
    for (auto [buffer, offset] : llvm::zip_equal(buffers, arena.offsets)) {
      buffer.removeOffsetAttr(); // set by an earlier run
      if (offset)
        buffer.setOffset(*offset);
    }
    program.setArenaBytes(arena.bytes);
  }

  static void allocate(plan::ProgramOp program, const StageArena &arena) {
    allocate(program, ArenaPlan{arena.offsets, arena.bytes});
    auto buffers = program.getBody().front().getOps<plan::BufferOp>();
    for (auto [buffer, pool] : llvm::zip_equal(buffers, arena.poolOf)) {
      buffer.removePoolAttr();
      if (pool >= 0)
        buffer.setPool(pool);
    }
    SmallVector<int64_t> numbers;
    for (const PlanPool &pool : arena.pools)
      numbers.append({pool.bytes, pool.offset, pool.slots});
    program.setPools(numbers);
    program.setArenasAttr(
        Builder(program.getContext()).getDenseI64ArrayAttr(arena.bytesOfStage));
  }
};

} // namespace
