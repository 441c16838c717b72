/// Arithmetic on indices, and structured control flow, at a builder.
#ifndef TPSP_PASSES_DEVICE_INDEXMATH_H
#define TPSP_PASSES_DEVICE_INDEXMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tpsp {

class IndexMath {
public:
  IndexMath(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, loc, value);
  }
  mlir::Value zeroOf(mlir::Type type) {
    return mlir::arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddIOp::create(b, loc, x, y);
  }
  mlir::Value multiply(mlir::Value x, int64_t y) {
    return y == 1 ? x
                  : mlir::Value(
                        mlir::arith::MulIOp::create(b, loc, x, constant(y)));
  }
  /// For numbers that are not negative.
  mlir::Value quotient(mlir::Value x, int64_t y) {
    return y == 1 ? x
                  : mlir::Value(
                        mlir::arith::DivUIOp::create(b, loc, x, constant(y)));
  }
  mlir::Value remainder(mlir::Value x, int64_t y) {
    return y == 1 ? constant(0)
                  : mlir::Value(
                        mlir::arith::RemUIOp::create(b, loc, x, constant(y)));
  }
  mlir::Value isBelow(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::slt,
                                       x, y);
  }
  /// The conjunction; a null condition counts as true.
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return !x ? y : mlir::Value(mlir::arith::AndIOp::create(b, loc, x, y));
  }
  /// `value` if `condition`, else `other`.
  mlir::Value valueIf(mlir::Value condition, mlir::Value value,
                      mlir::Value other) {
    return !condition ? value
                      : mlir::Value(mlir::arith::SelectOp::create(
                            b, loc, condition, value, other));
  }

  /// Emits the operations of `emitBody` under an scf.if on `condition`.
  void guarded(mlir::Value condition, llvm::function_ref<void()> emitBody) {
    auto inside =
        mlir::scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(inside.thenBlock());
    emitBody();
  }

  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value number, mlir::ValueRange carried)>;

  /// Emits a loop whose body yields the next carried values; returns the last
  /// ones.
  llvm::SmallVector<mlir::Value> forPoints(mlir::Value begin, mlir::Value end,
                                           int64_t step,
                                           mlir::ValueRange carried,
                                           LoopBody emitBody) {
    auto loop =
        mlir::scf::ForOp::create(b, loc, begin, end, constant(step), carried);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    llvm::SmallVector<mlir::Value> next =
        emitBody(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!carried.empty())
      mlir::scf::YieldOp::create(b, loc, next);
    return llvm::to_vector_of<mlir::Value>(loop.getResults());
  }

protected:
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_INDEXMATH_H
