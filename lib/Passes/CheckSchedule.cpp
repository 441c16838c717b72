// tpsp-check-schedule: prove that every command reads what it means to.
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace tpsp {
#define GEN_PASS_DEF_CHECKSCHEDULE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Who owns each byte of the arena: disjoint ranges.
class Ownership {
public:
  void take(plan::BufferOp buffer, int64_t begin, int64_t end) {
    // Ranges that overlap lose what they held: nobody reads half a buffer.
    auto it = ranges.upper_bound(begin);
    if (it != ranges.begin() && std::prev(it)->second.end > begin)
      --it;
    while (it != ranges.end() && it->first < end) {
      overwrittenBy[it->second.owner] = buffer;
      it = ranges.erase(it);
    }
    ranges[begin] = {end, buffer};
  }

  bool holds(plan::BufferOp buffer, int64_t begin, int64_t end) const {
    auto it = ranges.find(begin);
    return it != ranges.end() && it->second.end == end &&
           it->second.owner == buffer;
  }

  /// Who destroyed a buffer's contents; null if nothing ever wrote it.
  Operation *destroyer(plan::BufferOp buffer) const {
    return overwrittenBy.lookup(buffer);
  }

private:
  struct Range {
    int64_t end;
    Operation *owner;
  };
  std::map<int64_t, Range> ranges; // by begin
  llvm::DenseMap<Operation *, Operation *> overwrittenBy;
};

class ScheduleChecker {
public:
  explicit ScheduleChecker(plan::ProgramOp program) : program(program) {}

  LogicalResult run() {
    if (!program.getArenaBytes())
      return program.emitError("has no arena yet; run tpsp-allocate first");
    Block &body = program.getBody().front();
    for (auto buffer : body.getOps<plan::BufferOp>())
      if (failed(checkBuffer(buffer)))
        return failure();
    for (Operation &op : body)
      if (isa<plan::CommandOpInterface>(op) && failed(checkCommand(&op)))
        return failure();
    for (auto buffer : body.getOps<plan::BufferOp>())
      if (buffer.getKind() == plan::outputKind ||
          buffer.getKind() == plan::gradientKind)
        if (failed(checkHeld(buffer, buffer, "is returned")))
          return failure();
    return success();
  }

private:
  static int64_t beginOf(plan::BufferOp buffer) { return *buffer.getOffset(); }
  static int64_t endOf(plan::BufferOp buffer) {
    return *buffer.getOffset() + plan::bytesOf(buffer.getType());
  }

  LogicalResult checkBuffer(plan::BufferOp buffer) {
    if (!buffer.getOffset())
      return buffer.use_empty()
                 ? success()
                 : buffer.emitError("has no offset; run tpsp-allocate first");
    if (beginOf(buffer) < 0 ||
        endOf(buffer) > int64_t(*program.getArenaBytes()))
      return buffer.emitError("lies outside the arena of ")
             << *program.getArenaBytes() << " bytes: [" << beginOf(buffer)
             << ", " << endOf(buffer) << ")";
    if (buffer.getKind() == plan::inputKind ||
        buffer.getKind() == plan::parameterKind)
      memory.take(buffer, beginOf(buffer), endOf(buffer));
    return success();
  }

  LogicalResult checkCommand(Operation *command) {
    auto stream = command->getAttrOfType<IntegerAttr>("stream");
    if (stream && stream.getInt() != 0)
      return command->emitError("is on stream ")
             << stream.getInt()
             << ", but one-stream plans are all that can be "
                "checked so far";
    SmallVector<MemoryEffects::EffectInstance> effects;
    cast<MemoryEffectOpInterface>(command).getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects)
      if (effect.getValue() && isa<MemoryEffects::Read>(effect.getEffect()) &&
          failed(
              checkHeld(command, plan::bufferOf(effect.getValue()), "is read")))
        return failure();
    for (const MemoryEffects::EffectInstance &effect : effects)
      if (effect.getValue() && isa<MemoryEffects::Write>(effect.getEffect()) &&
          failed(checkWrite(command, plan::bufferOf(effect.getValue()))))
        return failure();
    return success();
  }

  LogicalResult checkHeld(Operation *at, plan::BufferOp buffer,
                          StringRef what) {
    if (memory.holds(buffer, beginOf(buffer), endOf(buffer)))
      return success();
    Operation *destroyer = memory.destroyer(buffer);
    InFlightDiagnostic diag =
        at->emitError("a buffer ")
        << what
        << (destroyer ? " after another has overwritten it"
                      : " before anything has written it");
    diag.attachNote(buffer.getLoc()) << "the buffer is made here";
    if (destroyer)
      diag.attachNote(destroyer->getLoc()) << "the other is made here";
    return diag;
  }

  LogicalResult checkWrite(Operation *command, plan::BufferOp buffer) {
    if (buffer.getKind() == plan::inputKind ||
        buffer.getKind() == plan::parameterKind)
      return command->emitError("writes an argument, '")
             << buffer.getName().value_or("") << "'";
    memory.take(buffer, beginOf(buffer), endOf(buffer));
    return success();
  }

  plan::ProgramOp program;
  Ownership memory;
};

struct CheckSchedule : public tpsp::impl::CheckScheduleBase<CheckSchedule> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (failed(ScheduleChecker(program).run()))
        return signalPassFailure();
  }
};

} // namespace
