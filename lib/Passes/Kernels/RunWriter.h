/// Work items that write runs of positions of one index.
#ifndef TPSP_PASSES_KERNELS_RUNWRITER_H
#define TPSP_PASSES_KERNELS_RUNWRITER_H

#include "RowLoops.h"

namespace tpsp {

/// Writes a row of the result of `op`: positions of `index`, for which operands
/// may have other names. At each position there is a block of the innermost
/// other index.
class RunWriter {
public:
  RunWriter(mlir::OpBuilder &b, RowKernelOpInterface op, llvm::StringRef index,
            mlir::ValueRange operands, mlir::Value result)
      : op(op), row(b, op.getLoc(), gridIndices(op)), index(index),
        operands(operands), result(result) {}

  /// Writes `number` at the positions from `to` up to but not including `end`.
  void fill(int64_t to, int64_t end, double number) {
    write(to, end, [&](mlir::Value) -> mlir::Value {
      mlir::Type type = mlir::getElementTypeOrSelf(result.getType());
      mlir::TypedAttr value =
          mlir::isa<mlir::FloatType>(type)
              ? mlir::TypedAttr(row.b.getFloatAttr(type, number))
              : mlir::TypedAttr(row.b.getIntegerAttr(type, int64_t(number)));
      return mlir::arith::ConstantOp::create(row.b, row.loc, value);
    });
  }
  /// Copies to these positions those of an operand from `from` on. The
  /// operand's name of the index is `own`.
  void copy(unsigned operand, llvm::StringRef own, int64_t from, int64_t to,
            int64_t end) {
    write(to, end, [&](mlir::Value position) -> mlir::Value {
      row.at[own] = row.add(position, row.constant(from - to));
      return row.load(op->getOperand(operand).getType(), operands[operand]);
    });
  }

private:
  void write(int64_t to, int64_t end,
             llvm::function_ref<mlir::Value(mlir::Value position)> element) {
    if (to >= end)
      return;
    mlir::OpBuilder::InsertionGuard guard(row.b);
    mlir::Value position = row.loop(row.constant(to), row.constant(end));
    mlir::Type type = op->getResult(0).getType();
    row.forEach(type, result, op.getBlockIndex(), [&](mlir::Value) {
      mlir::Value value = element(position);
      row.at[index] = position;
      row.store(value, type, result);
    });
  }

  RowKernelOpInterface op;
  RowLoops row;
  llvm::StringRef index;
  mlir::ValueRange operands;
  mlir::Value result;
};

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_RUNWRITER_H
