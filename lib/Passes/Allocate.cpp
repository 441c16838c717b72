// tpsp-allocate: offsets of all buffers in one arena.
#include "tpsp/Passes/Passes.h"

#include "tpsp/Algebra/ArenaLayout.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_ALLOCATE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

class Allocator {
public:
  explicit Allocator(plan::ProgramOp program)
      : program(program), b(program.getContext()) {}

  void run() {
    Block &body = program.getBody().front();
    for (auto buffer : body.getOps<plan::BufferOp>())
      if (buffer.getKind() != plan::temporaryKind)
        place(buffer);
    findLastUses(body);
    for (Operation &op : body)
      if (isa<plan::CommandOpInterface>(op))
        visit(&op);
    program.setArenaBytes(layout.size());
  }

private:
  void place(plan::BufferOp buffer) {
    buffer.setOffset(layout.allocate(plan::bytesOf(buffer.getType())));
  }

  void findLastUses(Block &body) {
    for (Operation &op : body)
      if (isa<plan::CommandOpInterface>(op))
        for (Value operand : op.getOperands())
          lastUse[plan::bufferOf(operand)] = &op;
  }

  /// All of a command's buffers live while it runs.
  void visit(Operation *command) {
    llvm::SmallSetVector<Operation *, 8> used;
    for (Value operand : command->getOperands())
      used.insert(plan::bufferOf(operand));
    for (Operation *op : used)
      if (auto buffer = cast<plan::BufferOp>(op); !buffer.getOffset())
        place(buffer);
    for (Operation *op : used) {
      auto buffer = cast<plan::BufferOp>(op);
      if (buffer.getKind() == plan::temporaryKind && lastUse[buffer] == command)
        layout.release(*buffer.getOffset(), plan::bytesOf(buffer.getType()));
    }
  }

  plan::ProgramOp program;
  OpBuilder b;
  ArenaLayout layout;
  llvm::DenseMap<Operation *, Operation *> lastUse;
};

struct Allocate : public tpsp::impl::AllocateBase<Allocate> {
  using Base::Base;
  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      Allocator(program).run();
  }
};

} // namespace
