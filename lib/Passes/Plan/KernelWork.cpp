// The work of a kernel's function, counted from its loops.
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RandomBits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// A division or a square root occupies its unit as long as several additions.
constexpr double slowOperation = 4;
/// A sine or cosine first reduces its argument to a period. An error function
/// has a longer polynomial than exponentials and similar functions.
constexpr double periodicFunction = 8, errorFunction = 3;

class WorkCounter {
public:
  WorkCounter(FunctionOpInterface function, int64_t grid)
      : function(function), grid(double(grid)) {}

  KernelWork count() {
    work.grid = int64_t(grid);
    if (!function.isExternal())
      countBlock(function.getFunctionBody().front(), 1);
    return work;
  }

private:
  void countBlock(Block &block, double times) {
    for (Operation &op : block)
      countOperation(&op, times);
  }

  void countOperation(Operation *op, double times) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return countBlock(*loop.getBody(), times * tripCount(loop));
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return countBlock(*loop.getAfterBody(),
                        times * knownTrips(loop).value_or(1));
    if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      return countStructured(structured, times);
    if (auto load = dyn_cast<memref::LoadOp>(op))
      countElement(op, load.getMemRefType(), load.getIndices(), times);
    if (auto store = dyn_cast<memref::StoreOp>(op))
      countElement(op, store.getMemRefType(), store.getIndices(), times);
    countScalar(op, times);
    // scf.if: both branches are counted, because the taken one is unknown and
    // both are short.
    for (Region &region : op->getRegions())
      for (Block &block : region)
        countBlock(block, times);
  }

  /// The loop over the work items, from the function's last but one argument to
  /// its last, runs over the grid.
  double tripCount(scf::ForOp loop) {
    Block::BlockArgListType arguments =
        function.getFunctionBody().getArguments();
    if (!arguments.empty() && loop.getUpperBound() == arguments.back())
      return grid;
    auto lower = constantOf(loop.getLowerBound()),
         upper = constantOf(loop.getUpperBound()),
         step = constantOf(loop.getStep());
    if (!lower || !upper || !step || *step <= 0)
      return knownTrips(loop).value_or(1);
    return double(
        std::max<int64_t>(0, llvm::divideCeil(*upper - *lower, *step)));
  }

  /// The trips of a loop that has them noted.
  static std::optional<double> knownTrips(Operation *loop) {
    if (auto trips = loop->getAttrOfType<FloatAttr>(tripsAttrName))
      return trips.getValueAsDouble();
    return std::nullopt;
  }

  static std::optional<int64_t> constantOf(Value value) {
    if (auto dim = value.getDefiningOp<memref::DimOp>()) {
      auto type = dyn_cast<MemRefType>(dim.getSource().getType());
      auto index = dim.getConstantIndex();
      if (type && index && !type.isDynamicDim(*index))
        return type.getDimSize(*index);
    }
    return getConstantIntValue(value);
  }

  /// Whether a loaded integer says where an element is.
  static bool isLookedUp(Value index) {
    if (auto cast = index.getDefiningOp<arith::IndexCastOp>())
      return cast.getIn().getType().isInteger();
    Operation *op = index.getDefiningOp();
    return op && op->getNumRegions() == 0 &&
           isa<arith::ArithDialect>(op->getDialect()) &&
           llvm::any_of(op->getOperands(), isLookedUp);
  }

  /// Counts an element access; it is in a row if the innermost loop runs along
  /// it.
  void countElement(Operation *op, MemRefType type, OperandRange indices,
                    double times) {
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    auto loop = op->getParentOfType<scf::ForOp>();
    bool isInRow = loop && !indices.empty() &&
                   indices.back() == loop.getInductionVar() &&
                   succeeded(type.getStridesAndOffset(strides, offset)) &&
                   strides.back() == 1;
    if (isInRow)
      work.elementBytes += times * double(type.getElementTypeBitWidth()) / 8;
    else if (llvm::any_of(indices, isLookedUp))
      work.scatteredElements += times;
    else
      work.stridedElements += times;
  }

  /// A kernel over a range of one index has views as long as the range instead
  /// of a loop over its grid. A dynamic extent is the grid's.
  void countStructured(linalg::LinalgOp op, double times) {
    for (int64_t extent : op.getStaticLoopRanges())
      times *= ShapedType::isDynamic(extent) ? grid : double(extent);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isTouched(op, operand))
        continue;
      if (isStrided(op, operand))
        work.stridedElements += times;
      else
        work.elementBytes += times * widthOf(operand.get());
    }
    countBlock(*op.getBlock(), times);
  }

  /// Whether every iteration loads or stores an element of the operand; sums
  /// and broadcast scalars stay in a register.
  static bool isTouched(linalg::LinalgOp op, OpOperand &operand) {
    bool isUsed =
        op.isDpsInit(&operand) || op.payloadUsesValueFromOperand(&operand);
    return isUsed && op.getMatchingIndexingMap(&operand).getNumResults() > 0;
  }

  /// Whether the innermost loop accesses the operand with a stride.
  static bool isStrided(linalg::LinalgOp op, OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!type || map.getNumDims() == 0)
      return false;
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    if (failed(type.getStridesAndOffset(strides, offset)))
      return true;
    AffineExpr innermost =
        getAffineDimExpr(map.getNumDims() - 1, map.getContext());
    for (auto [result, stride] : llvm::zip(map.getResults(), strides))
      if (result == innermost && stride != 1)
        return true;
    return false;
  }

  static double widthOf(Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    if (!type || !type.getElementType().isIntOrFloat())
      return 0;
    return double(type.getElementTypeBitWidth()) / 8;
  }

  /// Whether neighbours in the innermost loop draw from one block: each
  /// position must be the loop's position plus a multiple of their number. On a
  /// GPU, LLVM sees that if the block's number is a quotient of the position in
  /// the row, and not of a sum. (A CPU's strips share blocks in either case.)
  static bool sharesBlock(Operation *random) {
    auto number =
        cast<RandomBitsOp>(random).getBlock().getDefiningOp<arith::AddIOp>();
    if (!number || !number.getRhs().getDefiningOp<arith::DivUIOp>())
      return false;
    auto structured = random->getParentOfType<linalg::LinalgOp>();
    if (!structured)
      return true;
    SmallVector<int64_t> ranges = structured.getStaticLoopRanges();
    return !ranges.empty() && (ShapedType::isDynamic(ranges.back()) ||
                               ranges.back() % randomNeighbours == 0);
  }

  void countScalar(Operation *op, double times) {
    if (op->getNumResults() != 1 || op->getResult(0).getType().isIndex())
      return;
    if (isa<math::SqrtOp, math::RsqrtOp, arith::DivFOp>(op))
      work.operations += slowOperation * times;
    else if (isa<math::AbsFOp, math::CopySignOp, math::FmaOp>(op))
      work.operations += times;
    else if (isa<math::SinOp, math::CosOp>(op))
      work.transcendentals += periodicFunction * times;
    else if (isa<math::ErfOp>(op))
      work.transcendentals += errorFunction * times;
    else if (isa<math::MathDialect>(op->getDialect()))
      work.transcendentals += times;
    else if (isa<RandomBitsOp>(op))
      work.operations += randomBlockOperations * times /
                         (sharesBlock(op) ? randomNeighbours : 1);
    else if (isa<arith::ArithDialect>(op->getDialect()) &&
             !isa<arith::ConstantOp>(op))
      work.operations += times;
  }

  FunctionOpInterface function;
  double grid;
  KernelWork work;
};

} // namespace

KernelWork tpsp::kernelWork(Operation *function, int64_t grid) {
  if (auto kernel = dyn_cast<FunctionOpInterface>(function))
    return WorkCounter(kernel, grid).count();
  KernelWork unknown;
  unknown.grid = grid;
  return unknown;
}
