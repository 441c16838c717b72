/// Loops and element accesses by index name, within one work item.
#ifndef TPSP_PASSES_KERNELS_ROWLOOPS_H
#define TPSP_PASSES_KERNELS_ROWLOOPS_H

#include "tpsp/Passes/Kernels/KernelInterfaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/MapVector.h"

namespace tpsp {

/// Rows and tensors are passed with their tensor types, which name the
/// dimensions. In memory they are memrefs without the grid's dimensions.
class RowLoops {
public:
  RowLoops(mlir::OpBuilder &b, mlir::Location loc,
           llvm::ArrayRef<llvm::StringRef> grid)
      : b(b), loc(loc), grid(grid) {}
  /// For an operation with rows or with buckets.
  template <typename Interface>
  RowLoops(mlir::OpBuilder &b, Interface op)
      : RowLoops(b, op.getLoc(), gridIndices(op)) {}

  /// Names of the dimensions of a row of `tensor`.
  llvm::SmallVector<llvm::StringRef> namesOf(mlir::Type tensor) const {
    return indexNamesBut(tensor, grid);
  }

  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, loc, value);
  }
  mlir::Value i32(int64_t value) {
    return mlir::arith::ConstantIntOp::create(b, loc, b.getI32Type(), value);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddIOp::create(b, loc, x, y);
  }
  mlir::Value subtract(mlir::Value x, mlir::Value y) {
    return mlir::arith::SubIOp::create(b, loc, x, y);
  }
  mlir::Value multiply(mlir::Value x, mlir::Value y) {
    return mlir::arith::MulIOp::create(b, loc, x, y);
  }
  /// An unsigned comparison, in which a negative number is a large one.
  mlir::Value isBelow(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::ult,
                                       x, y);
  }
  /// `x` and `y`; a null operand counts as true.
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return x && y ? mlir::Value(mlir::arith::AndIOp::create(b, loc, x, y))
           : x    ? x
                  : y;
  }
  mlir::Value asIndex(mlir::Value x) {
    return mlir::arith::IndexCastOp::create(b, loc, b.getIndexType(), x);
  }
  mlir::Value asI32(mlir::Value x) {
    return mlir::arith::IndexCastOp::create(b, loc, b.getI32Type(), x);
  }

  /// The extent of `name`, a dimension of `row`, which is a row of `tensor`.
  mlir::Value extent(mlir::Type tensor, mlir::Value row, llvm::StringRef name) {
    llvm::SmallVector<llvm::StringRef> names = namesOf(tensor);
    auto dim = llvm::find(names, name) - names.begin();
    return mlir::memref::DimOp::create(b, loc, row, dim);
  }

  /// Opens a loop; later operations are inside it. Returns its counter.
  mlir::Value loop(mlir::Value first, mlir::Value last) {
    auto each = mlir::scf::ForOp::create(b, loc, first, last, constant(1));
    b.setInsertionPointToStart(each.getBody());
    return each.getInductionVar();
  }
  /// Opens a loop over `name`.
  void loop(llvm::StringRef name, mlir::Value extent) {
    at[name] = loop(constant(0), extent);
  }
  using Values = llvm::SmallVector<mlir::Value>;
  /// A loop whose body computes the next carried values; returns the last ones.
  Values carry(mlir::Value first, mlir::Value last, mlir::ValueRange initial,
               llvm::function_ref<Values(mlir::Value, mlir::ValueRange)> body) {
    auto each =
        mlir::scf::ForOp::create(b, loc, first, last, constant(1), initial);
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(each.getBody());
    mlir::scf::YieldOp::create(
        b, loc, body(each.getInductionVar(), each.getRegionIterArgs()));
    return llvm::to_vector_of<mlir::Value>(each.getResults());
  }
  /// Later operations run only if `condition` holds; null: always.
  void onlyIf(mlir::Value condition) {
    if (!condition)
      return;
    auto inside =
        mlir::scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    b.setInsertionPointToStart(inside.thenBlock());
  }

  /// Emits `body` for every position along `name` of `row`, which is a row of
  /// `tensor`; once, for position 0, if `name` is empty.
  void forEach(mlir::Type tensor, mlir::Value row, llvm::StringRef name,
               llvm::function_ref<void(mlir::Value position)> body) {
    mlir::OpBuilder::InsertionGuard guard(b);
    if (name.empty())
      return body(constant(0));
    loop(name, extent(tensor, row, name));
    body(at[name]);
  }

  /// Sets the position of element `number` of a row-major tensor over `names`.
  void locate(mlir::Value number, llvm::ArrayRef<llvm::StringRef> names,
              llvm::ArrayRef<int64_t> extents) {
    for (auto [name, extent] : llvm::reverse(llvm::zip_equal(names, extents))) {
      mlir::Value size = constant(extent);
      at[name] = mlir::arith::RemUIOp::create(b, loc, number, size);
      number = mlir::arith::DivUIOp::create(b, loc, number, size);
    }
  }

  llvm::SmallVector<mlir::Value> coordinates(mlir::Type tensor) {
    llvm::SmallVector<mlir::Value> all;
    for (llvm::StringRef name : namesOf(tensor))
      all.push_back(at.lookup(name));
    return all;
  }
  mlir::Value load(mlir::Type tensor, mlir::Value row) {
    return mlir::memref::LoadOp::create(b, loc, row, coordinates(tensor));
  }
  void store(mlir::Value value, mlir::Type tensor, mlir::Value row) {
    mlir::memref::StoreOp::create(b, loc, value, row, coordinates(tensor));
  }

  /// The type of sums: f32 for numbers of 16 bits.
  static mlir::Type sumType(mlir::Type tensor) {
    mlir::Type element = mlir::getElementTypeOrSelf(tensor);
    return element.getIntOrFloatBitWidth() > 16
               ? element
               : mlir::Float32Type::get(element.getContext());
  }
  /// Loads an element as a summand; below, stores a sum as an element.
  mlir::Value loadWide(mlir::Type tensor, mlir::Value row) {
    mlir::Value value = load(tensor, row);
    mlir::Type wide = sumType(tensor);
    return value.getType() == wide
               ? value
               : mlir::arith::ExtFOp::create(b, loc, wide, value);
  }
  void storeNarrow(mlir::Value sum, mlir::Type tensor, mlir::Value row) {
    mlir::Type element = mlir::getElementTypeOrSelf(tensor);
    if (sum.getType() != element)
      sum = mlir::arith::TruncFOp::create(b, loc, element, sum);
    store(sum, tensor, row);
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  /// The item's position along each of its indices.
  llvm::MapVector<llvm::StringRef, mlir::Value> at;

private:
  llvm::SmallVector<llvm::StringRef> grid;
};

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_ROWLOOPS_H
