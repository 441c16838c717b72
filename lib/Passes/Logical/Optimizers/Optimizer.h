/// Optimizers: the update of one parameter in one step, as operations on
/// tensors.
///
/// An optimizer is a row of the table (Optimizers.def) and one file, which
/// gives its state and its settings and builds its operations. It does not know
/// how parameter, gradient and state are sharded: the operations are unplaced
/// and get their placements like all others.
#ifndef TPSP_PASSES_LOGICAL_OPTIMIZERS_OPTIMIZER_H
#define TPSP_PASSES_LOGICAL_OPTIMIZERS_OPTIMIZER_H

#include "Passes/Logical/MatrixIndices.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringMap.h"

namespace tpsp {

/// Builds operations on unplaced tensors. An elementwise result has the indices
/// of the operand with the most indices. A tensor without indices is a number
/// for all elements.
class UpdateBuilder {
public:
  UpdateBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  mlir::Value add(mlir::Value x, mlir::Value y) {
    return create<AddOp>({x, y});
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return create<SubOp>({x, y});
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return create<MulOp>({x, y});
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return create<DivOp>({x, y});
  }
  mlir::Value scale(mlir::Value x, double factor) {
    return create<ScaleOp>({x}, b.getF64FloatAttr(factor));
  }
  mlir::Value shift(mlir::Value x, double by) {
    return create<ShiftOp>({x}, b.getF64FloatAttr(by));
  }
  mlir::Value square(mlir::Value x) { return create<SquareOp>({x}); }
  mlir::Value sqrt(mlir::Value x) { return create<SqrtOp>({x}); }
  mlir::Value exp(mlir::Value x) { return create<ExpOp>({x}); }
  mlir::Value tanh(mlir::Value x) { return create<TanhOp>({x}); }
  mlir::Value relu(mlir::Value x) { return create<ReluOp>({x}); }
  mlir::Value rsqrt(mlir::Value x) { return create<RsqrtOp>({x}); }
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return create<MaxOp>({x, y});
  }
  /// 1 where the relation ("less") holds, else 0.
  mlir::Value compare(mlir::Value x, mlir::Value y, llvm::StringRef is) {
    return create<CompareOp>({x, y}, b.getStringAttr(is));
  }
  /// x where the condition, a number in any precision, is not 0; else y.
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// x in the type `element`, converted if necessary.
  mlir::Value convert(mlir::Value x, mlir::Type element);
  /// factor x + (1 - factor) y
  mlir::Value average(mlir::Value x, mlir::Value y, double factor);

  /// The sum of x over every index but `names`.
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<llvm::StringRef> names);
  /// x y, summed over every index but `names`.
  mlir::Value einsum(mlir::Value x, mlir::Value y,
                     llvm::ArrayRef<llvm::StringRef> names);
  /// x with `to` in place of the names `from`.
  mlir::Value rename(mlir::Value x, llvm::ArrayRef<llvm::StringRef> from,
                     llvm::ArrayRef<llvm::StringRef> to);

  mlir::OpBuilder &b;
  mlir::Location loc;

private:
  /// The unplaced type with the indices of the operand that has the most.
  static mlir::Type typeOver(llvm::ArrayRef<mlir::Value> operands);

  template <typename Op, typename... Attributes>
  mlir::Value create(llvm::ArrayRef<mlir::Value> operands,
                     Attributes... attributes) {
    return Op::create(b, loc, typeOver(operands), mlir::ValueRange(operands),
                      attributes...);
  }
};

/// A numeric setting of an optimizer, from 0 to less than `below`.
struct OptimizerSetting {
  llvm::StringRef name;
  double value;
  double below = 1e9;
};

/// A tensor like the parameter, in f32, that is kept from step to step. It
/// begins as zeros. A driver that draws data at random uses `mean` and
/// `deviation`.
struct OptimizerState {
  llvm::StringRef name;
  double mean, deviation;
};

/// One step of one parameter. All tensors are f32, and all but the scalars have
/// the parameter's indices.
struct ParameterStep {
  /// The parameter, or its master, and its gradient, clipped.
  mlir::Value parameter, gradient;
  /// In the order of Optimizer::state.
  llvm::SmallVector<mlir::Value> state;
  /// Scalars; steps count from 1.
  mlir::Value learningRate, step;
  /// A number for each of Optimizer::settings.
  llvm::StringMap<double> settings;
  /// The type of the state, with its placement.
  mlir::RankedTensorType placed;
  /// The same without axes that cut it as a row of elements (Abi/FlatCut.h),
  /// for what is computed along indices.
  mlir::RankedTensorType even;
  /// The role of each index; empty if the parameter is not a matrix.
  llvm::SmallVector<MatrixRole> matrix;

  double setting(llvm::StringRef name) const { return settings.at(name); }

  /// `change` plus the parameter's decay, which vectors do not have.
  mlir::Value decayed(UpdateBuilder &b, mlir::Value change) const {
    double decay = setting("decay");
    return decay > 0 && typeOf(parameter).getRank() >= 2
               ? b.add(change, b.scale(parameter, decay))
               : change;
  }
  /// The parameter after a step against `change`.
  mlir::Value stepped(UpdateBuilder &b, mlir::Value change) const {
    return b.sub(parameter, b.mul(change, learningRate));
  }
};

struct Optimizer {
  llvm::SmallVector<OptimizerState> state;
  llvm::SmallVector<OptimizerSetting> settings;
  /// Builds the new parameter and the new state, in the order of `state`.
  llvm::SmallVector<mlir::Value> (*build)(UpdateBuilder &b,
                                          const ParameterStep &step);
  /// The optimizer of parameters that are not matrices; null if `build` takes
  /// them, too.
  const Optimizer &(*otherwise)() = nullptr;

  /// The setting of this name, of this optimizer or of `otherwise`; null if
  /// neither has it.
  const OptimizerSetting *find(llvm::StringRef name) const;
};

/// The optimizer of this name; null if there is none.
const Optimizer *findOptimizer(llvm::StringRef name);

/// The name by which findOptimizer finds it.
llvm::StringRef nameOf(const Optimizer &optimizer);

#define OPTIMIZER(name, function) const Optimizer &function();
#include "tpsp/Abi/Optimizers.def"
#undef OPTIMIZER

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_OPTIMIZERS_OPTIMIZER_H
