#include "DeviceMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

static StringRef intrinsicOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<math::SqrtOp, math::RsqrtOp>([](auto) { return "llvm.sqrt"; })
      .Case([](math::AbsFOp) { return "llvm.fabs"; })
      .Case([](math::CeilOp) { return "llvm.ceil"; })
      .Case([](math::CopySignOp) { return "llvm.copysign"; })
      .Case([](math::Exp2Op) { return "llvm.exp2"; })
      .Case([](math::FloorOp) { return "llvm.floor"; })
      .Case([](math::FmaOp) { return "llvm.fma"; })
      .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
      .Default(StringRef());
}

/// The instruction for `op`; null if there is none.
static Value instructionFor(OpBuilder &b, Operation *op) {
  StringRef name = intrinsicOf(op);
  if (name.empty())
    return {};
  Location loc = op->getLoc();
  Type type = op->getResult(0).getType();
  // Only an approximate power of 2 is an instruction.
  auto flags = LLVM::FastmathFlagsAttr::get(
      b.getContext(), isa<math::Exp2Op>(op) ? LLVM::FastmathFlags::afn
                                            : LLVM::FastmathFlags::none);
  Value value = LLVM::CallIntrinsicOp::create(b, loc, TypeRange(type),
                                              b.getStringAttr(name),
                                              op->getOperands(), flags)
                    .getResult(0);
  if (!isa<math::RsqrtOp>(op))
    return value;
  Value one = arith::ConstantOp::create(b, loc, b.getFloatAttr(type, 1));
  return arith::DivFOp::create(b, loc, one, value);
}

void tpsp::replaceByInstructions(gpu::GPUFuncOp kernel) {
  SmallVector<Operation *> operations;
  kernel.walk([&](Operation *op) {
    if (isa<math::MathDialect>(op->getDialect()) && op->getNumResults() == 1)
      operations.push_back(op);
  });
  for (Operation *op : operations) {
    OpBuilder b(op);
    if (Value value = instructionFor(b, op)) {
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
    }
  }
}
