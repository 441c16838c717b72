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

struct Allocate : public tpsp::impl::AllocateBase<Allocate> {
  using Base::Base;
  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>()) {
      if (program.getStageAxis()) {
        allocate(program,
                 planStageArena(getChildAnalysis<PlanAnalysis>(program).plan));
        continue;
      }
      const Plan &plan = getChildAnalysis<PlanAnalysis>(program).plan;
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
