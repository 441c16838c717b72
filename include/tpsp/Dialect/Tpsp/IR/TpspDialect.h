/// The tpsp dialect: its attributes, and the interfaces through which passes
/// know operations. Each family of operations has a header of its own,
/// <Family>Ops.h.
#ifndef TPSP_DIALECT_TPSP_IR_TPSPDIALECT_H
#define TPSP_DIALECT_TPSP_IR_TPSPDIALECT_H

#include "tpsp/Algebra/AttentionHeads.h"
#include "tpsp/Algebra/ComputePlacement.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/IR/Origin.h"
#include "tpsp/Dialect/Tpsp/IR/ScoreAttributes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tpsp {

/// The index structure of an operation whose dimensions are related by name.
IndexStructure structureByName(mlir::Operation *op);

/// Verifies (I1)-(I8) of IndexedOpInterface.
mlir::LogicalResult verifyIndexedOp(mlir::Operation *op);
/// Verifies (I2), (N3) and (I3) for tensors of `op`: its operands, then its
/// results, or a function's arguments. Types without subscripts are skipped.
mlir::LogicalResult verifySubscripts(mlir::Operation *op,
                                     llvm::ArrayRef<mlir::Type> types,
                                     const Mesh &mesh);
/// Verifies (N3) across all indices of a tensor. The error lists the ways out
/// and their prices.
mlir::LogicalResult verifyAxesOnce(mlir::Operation *op,
                                   llvm::ArrayRef<mlir::Type> types,
                                   const Mesh &mesh);
/// Verifies (C1)-(C3) of CollectiveOpInterface.
mlir::LogicalResult verifyCollectiveOp(mlir::Operation *op);
/// The default of IndexedOpInterface::restrictPositions: fails if `op` is a
/// loop that computes with positions along `index` of its result.
mlir::LogicalResult refusePositions(mlir::Operation *op, llvm::StringRef index);
/// Verifies (P1), (P2) and (P4) of the pointwise operations. Arity -1 is any
/// number from one up. Up to `optional` more operands may be the step's number.
mlir::LogicalResult verifyPointwise(mlir::Operation *op, int arity,
                                    int optional = 0);
/// Verifies that operand `number` has no indices, as the step's number must.
mlir::LogicalResult verifyStep(mlir::Operation *op, unsigned number);
/// Verifies that all of `tensors` have one element type.
mlir::LogicalResult verifyOnePrecision(mlir::Operation *op,
                                       mlir::ValueRange tensors);
/// The optional operands of an attention, in their order. Null or empty if
/// absent.
struct OptionalOperands {
  /// Numbers with the index of queries or of keys.
  mlir::Value bias;
  /// Numbers with other indices.
  mlir::Value sink;
  /// Two tensors of segment numbers (i32).
  mlir::ValueRange segments;
  /// i32.
  mlir::Value lengths;
  /// The step's number, which has no indices. Several operands are an error.
  mlir::ValueRange step;
};

/// Tells the operands of an attention after its first `tensors` apart by their
/// types.
OptionalOperands optionalOperands(mlir::ValueRange operands, unsigned tensors,
                                  llvm::StringRef query, llvm::StringRef key);

/// The adjoint of a composite that must be decomposed before differentiation:
/// an error.
mlir::LogicalResult refuseComposite(mlir::Operation *op);

/// The default of IndexedOpInterface::inferIndices. For an operation with the
/// trait KeepsIndices: the indices of the first operand that carries those of
/// all operands.
std::optional<llvm::SmallVector<llvm::StringRef>>
indicesKept(mlir::Operation *op);

/// The result has the indices of the operand that carries those of all
/// operands.
template <typename ConcreteOp>
class KeepsIndices : public mlir::OpTrait::TraitBase<ConcreteOp, KeepsIndices> {
};

/// A fact of an operation that holds whatever its attributes and types are. Its
/// definition lists these as traits (Tpsp_Fact, in OpBase.td). The methods of
/// the interfaces answer with them.
enum class Fact {
  LinearJointly,
  LinearInEach,
  IntroducesIndices,
  SumOfOperands,
  SumOfProducts,
  View,
  Selects,
  MixesPrecision,
  StaysWide,
  StopsGradient,
  DecomposesEarly,
  ReducesRows,
  HasOwnKernel
};

template <Fact fact> struct Has {
  template <typename ConcreteOp>
  class Impl : public mlir::OpTrait::TraitBase<ConcreteOp, Has<fact>::Impl> {};
};

/// Whether the operation's definition lists the fact.
template <typename ConcreteOp, Fact fact> constexpr bool holds() {
  return ConcreteOp::template hasTrait<Has<fact>::template Impl>();
}

template <typename ConcreteOp> constexpr Linearity linearityOf() {
  if (holds<ConcreteOp, Fact::LinearJointly>())
    return Linearity::Joint;
  return holds<ConcreteOp, Fact::LinearInEach>() ? Linearity::Multi
                                                 : Linearity::None;
}

/// Parses an operation with an index structure: its operands, attributes and
/// types. Without types it is in short form (ProgramOps.td): an arrow may give
/// the result's type, and all other types are inferred later.
mlir::ParseResult parseIndexedOp(mlir::OpAsmParser &parser,
                                 mlir::OperationState &state);
/// Prints such an operation, without the attributes that equal those of
/// `defaults`, a dictionary or null.
void printIndexedOp(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                    mlir::Attribute defaults);

/// A block of the result, `to`, and the block `from` of an operand that it is
/// copied from. The number is 0 for a tensor of a single block.
struct BlockCopy {
  unsigned operand;
  int64_t from, to;
};

/// Along `index`, the result is the operand `by` positions earlier, around the
/// end. "" and 0 for most operations.
struct HandOn {
  llvm::StringRef index = {};
  int64_t by = 0;
};

/// The scalar that a loop operation computes at a point, as a function of its
/// operands' elements.
struct ScalarFormula {
  enum Kind {
    /// Any other function.
    Other,
    /// The operands' sum or product; with one operand, its element.
    Sum,
    Product,
    /// A scalar function of one operand's element, or its derivative.
    Function,
    Slope
  };
  Kind kind = Other;
  /// For Function and Slope: the function's row (ScalarFunctions.h).
  llvm::StringRef function = {};
};

/// Argument attribute: the argument is a parameter of the model, `tpsp.param`
/// or `tpsp.param = "name"`.
inline constexpr llvm::StringLiteral paramAttrName = "tpsp.param";
/// Argument and result attribute: a name for people, `tpsp.name = "x"`.
inline constexpr llvm::StringLiteral nameAttrName = "tpsp.name";
/// Unit attribute of an argument: differentiation treats it as a constant and
/// makes no gradient with respect to it.
inline constexpr llvm::StringLiteral frozenAttrName = "tpsp.frozen";
/// Argument attribute of a tensor of integers, N: they are in [0, N).
inline constexpr llvm::StringLiteral belowAttrName = "tpsp.below";
/// Argument attributes of a floating-point tensor: the mean and the standard
/// deviation of its elements if a driver draws them at random.
inline constexpr llvm::StringLiteral meanAttrName = "tpsp.mean";
inline constexpr llvm::StringLiteral deviationAttrName = "tpsp.deviation";
/// Argument attribute of a parameter: the standard deviation of its values at
/// the beginning of a training run, if it differs from tpsp.deviation.
inline constexpr llvm::StringLiteral initialDeviationAttrName =
    "tpsp.initial_deviation";
/// Argument attribute of a tensor of integers: which part of a batch it is
/// (Abi/DataRole.h).
inline constexpr llvm::StringLiteral dataAttrName = "tpsp.data";
/// Result attribute: the result is the gradient of the argument of that number.
inline constexpr llvm::StringLiteral gradientAttrName = "tpsp.gradient_of";
/// Unit attribute of a result that the program itself does not return: a
/// choice, decided by comparing numbers. An evaluation of the program elsewhere
/// must be given the choice.
inline constexpr llvm::StringLiteral choiceAttrName = "tpsp.choice";
/// Flag of a result that the program itself does not return: a value in the
/// middle of the program, for comparisons. It has no cotangent. If it is true,
/// the value's gradient is returned, too.
inline constexpr llvm::StringLiteral innerAttrName = "tpsp.inner";
/// Result attribute: the result is the gradient of the inner result of that
/// number.
inline constexpr llvm::StringLiteral innerGradientAttrName =
    "tpsp.inner_gradient_of";
/// Argument attribute: the argument is the cotangent of the result of that
/// number.
inline constexpr llvm::StringLiteral cotangentAttrName = "tpsp.cotangent_of";
/// Argument attribute of a parameter: the subscripts at which its gradient is
/// wanted, which are those of its optimizer's state. Without the attribute they
/// are the parameter's own.
inline constexpr llvm::StringLiteral gradientAtAttrName = "tpsp.gradient_at";
/// Argument attribute: the argument is state, kept from step to step with the
/// parameters. The value is the number of its parameter. It is -1 for a number
/// that belongs to the whole step, which begins as its tpsp.mean.
inline constexpr llvm::StringLiteral stateAttrName = "tpsp.state_of";
/// Unit attribute of a state: it begins as a copy of the parameter.
inline constexpr llvm::StringLiteral masterAttrName = "tpsp.master";
/// Unit attribute of an argument: a number that the driver sets for each step,
/// "learning_rate" or "step" by its name.
inline constexpr llvm::StringLiteral scalarAttrName = "tpsp.scalar";
/// Argument attributes of a parameter: the name of its own optimizer, and the
/// factor of its learning rate.
inline constexpr llvm::StringLiteral optimizerAttrName = "tpsp.optimizer";
inline constexpr llvm::StringLiteral learningRateAttrName =
    "tpsp.learning_rate";
/// Function attribute: the function is the update of the parameters of the
/// function that it names (tpsp-build-update).
inline constexpr llvm::StringLiteral updateOfAttrName = "tpsp.update_of";
/// Attribute of an update function: its gradients are multiplied by this f64,
/// or by the argument whose number is this i64.
inline constexpr llvm::StringLiteral lossScaleAttrName = "tpsp.loss_scale";
/// Result attribute: the result replaces the argument of that number.
inline constexpr llvm::StringLiteral updatesAttrName = "tpsp.updates";
/// Attribute of an operation with several results: an array with a dictionary
/// for each result. It replaces the operation's own name and the result
/// attributes below (ResultAttrs.h).
inline constexpr llvm::StringLiteral resultsAttrName = "tpsp.results";
/// Unit attribute of a result that is a parameter's gradient, or a summand of
/// one.
inline constexpr llvm::StringLiteral weightAttrName = "tpsp.weight_gradient";
/// Attribute of a result that an update reads, from tpsp-compose-step to
/// tpsp-note-gradients: the numbers of the arguments whose gradients it is.
inline constexpr llvm::StringLiteral gradientsAttrName = "tpsp.gradients";
/// Unit attribute of a result whose placement is a proposal of the compiler and
/// not the user's request. tpsp-insert-collectives may leave the result in the
/// placement that it is computed in.
inline constexpr llvm::StringLiteral proposedAttrName = "tpsp.proposed";
/// A sentence about a decision on the result, for the explanation.
inline constexpr llvm::StringLiteral noteAttrName = "tpsp.note";
/// Attribute of an operation: what it was made for, and when it runs; an
/// OriginAttr (Origin.h).
inline constexpr llvm::StringLiteral originAttrName = "tpsp.origin";
/// Number of micro-batches, of a function whose operations of one micro-batch
/// stand for those of all.
inline constexpr llvm::StringLiteral microBatchesAttrName =
    "tpsp.micro_batches";
/// Attribute of such a function's argument or result: the dimension that
/// micro-batches cut. Its type is one part's.
inline constexpr llvm::StringLiteral cutAttrName = "tpsp.cut";
/// On an argument or a result that is cut as a row of elements (Abi/FlatCut.h):
/// the type of the whole tensor, a TypeAttr. Set by tpsp-partition.
inline constexpr llvm::StringLiteral cutRowAttrName = "tpsp.cut_row";
/// On a collective of one rank that moves such a tensor: the index that its
/// axes are on, a string for the ledger (tpsp-partition).
inline constexpr llvm::StringLiteral movedIndexAttrName = "tpsp.moved_index";
/// Attribute of a function whose layers are divided over stages: its segments,
/// each a dictionary with the fields of a PlanSegment (Abi/Plan.h).
inline constexpr llvm::StringLiteral segmentsAttrName = "tpsp.segments";
/// Stands for the number of the micro-batch that runs, where an operation takes
/// the number of one.
inline constexpr int64_t everyMicroBatch = -1;
/// The name by which a loop operation asks for that number as a position.
inline constexpr llvm::StringLiteral microBatchPosition = "tpsp.micro_batch";
/// The share, from 0 to 1, of an operation's collectives that computation must
/// hide (tpsp-require-overlap).
inline constexpr llvm::StringLiteral overlapAttrName = "tpsp.overlap";
/// Unit attribute of operations that are cheap to rematerialise relative to the
/// size of their results: mode "selective" does not save these.
inline constexpr llvm::StringLiteral recomputeAttrName = "tpsp.recompute";
/// Unit attribute of a composite that tpsp-decompose-early leaves until it is
/// placed: its placement may allow other parts.
inline constexpr llvm::StringLiteral whenPlacedAttrName = "tpsp.when_placed";
/// Attribute of a kernel's loop whose length is known only at run time: its
/// average number of iterations, f64.
inline constexpr llvm::StringLiteral tripsAttrName = "tpsp.trips";

} // namespace tpsp

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tpsp/Dialect/Tpsp/IR/TpspAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tpsp/Dialect/Tpsp/IR/TpspTypes.h.inc"

#include "tpsp/Dialect/Tpsp/IR/TpspInterfaces.h.inc"

#endif // TPSP_DIALECT_TPSP_IR_TPSPDIALECT_H
