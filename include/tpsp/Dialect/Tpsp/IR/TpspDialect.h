/// The tpsp dialect: attributes and interfaces, by which passes know
/// operations. The operations of a family are in a header of their own,
/// <Family>Ops.h.
#ifndef TPSP_DIALECT_TPSP_IR_TPSPDIALECT_H
#define TPSP_DIALECT_TPSP_IR_TPSPDIALECT_H

#include "tpsp/Algebra/AttentionHeads.h"
#include "tpsp/Algebra/ComputePlacement.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tpsp {

/// The structure of an operation whose dimensions are related by name.
IndexStructure structureByName(mlir::Operation *op);

/// (I1)-(I8) of IndexedOpInterface.
mlir::LogicalResult verifyIndexedOp(mlir::Operation *op);
/// (I2), (N3), (I3) for tensors of `op`: its operands, then its results; for a
/// function, its arguments. Types without subscripts are passed over.
mlir::LogicalResult verifySubscripts(mlir::Operation *op,
                                     llvm::ArrayRef<mlir::Type> types,
                                     const Mesh &mesh);
/// (N3) over all of a tensor, with the ways out and their prices.
mlir::LogicalResult verifyAxesOnce(mlir::Operation *op,
                                   llvm::ArrayRef<mlir::Type> types,
                                   const Mesh &mesh);
/// (C1)-(C3) of CollectiveOpInterface.
mlir::LogicalResult verifyCollectiveOp(mlir::Operation *op);
/// What IndexedOpInterface::restrictPositions does by default: refuses if `op`
/// is a loop that asks for positions along `index` of its result.
mlir::LogicalResult refusePositions(mlir::Operation *op, llvm::StringRef index);
/// (P1), (P2), (P4) of the pointwise operations; arity -1 is any number from
/// one up. Up to `optional` more operands are the step's number.
mlir::LogicalResult verifyPointwise(mlir::Operation *op, int arity,
                                    int optional = 0);
/// Whether operand `number` is without indices, as a step's number is; refuses
/// what is not.
mlir::LogicalResult verifyStep(mlir::Operation *op, unsigned number);
/// Whether all of these are of one type; refuses what is not.
mlir::LogicalResult verifyOnePrecision(mlir::Operation *op,
                                       mlir::ValueRange tensors);
/// What may follow the first `tensors` operands of an attention, in this order,
/// as their types say. There are a bias of numbers with indices, two tensors of
/// segment numbers of i32 and one of lengths of i32. Last is the step's number,
/// without indices. Null and empty where they are not.
mlir::Value attentionBias(mlir::ValueRange operands, unsigned tensors);
mlir::ValueRange attentionSegments(mlir::ValueRange operands, unsigned tensors);
mlir::Value attentionLengths(mlir::ValueRange operands, unsigned tensors);
mlir::ValueRange attentionStep(mlir::ValueRange operands, unsigned tensors);

/// The adjoint of a composite that must be taken apart first: an error.
mlir::LogicalResult refuseComposite(mlir::Operation *op);

/// What IndexedOpInterface::inferIndices does by default: of an operation with
/// the trait below, the indices of the first operand that has those of all.
std::optional<llvm::SmallVector<llvm::StringRef>>
indicesKept(mlir::Operation *op);

/// The result has the indices of the operand that has those of all operands.
template <typename ConcreteOp>
class KeepsIndices : public mlir::OpTrait::TraitBase<ConcreteOp, KeepsIndices> {
};

/// The syntax of an operation with an index structure: its operands, its
/// attributes, its types. Without types it is in short form (ProgramOps.td):
/// the result's may follow an arrow, and all are inferred later.
mlir::ParseResult parseIndexedOp(mlir::OpAsmParser &parser,
                                 mlir::OperationState &state);
/// Attributes that are those of `defaults`, a dictionary or null, are left out.
void printIndexedOp(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                    mlir::Attribute defaults);

/// Block `from` of an operand becomes block `to` of the result; 0 where the
/// tensor is a single block.
struct BlockCopy {
  unsigned operand;
  int64_t from, to;
};

/// What a loop operation computes at a point, of its operands' elements.
struct ScalarFormula {
  enum Kind {
    /// Something else.
    Other,
    /// Their sum, or product; of one operand, its element.
    Sum,
    Product,
    /// A scalar function of one operand's element, or its derivative.
    Function,
    Slope
  };
  Kind kind = Other;
  /// Of Function and Slope: the function's row (ScalarFunctions.h).
  llvm::StringRef function = {};
};

/// Argument attribute: a parameter of the model, `tpsp.param` or
/// `tpsp.param = "name"`.
inline constexpr llvm::StringLiteral paramAttrName = "tpsp.param";
/// Argument and result attribute: a name for people, `tpsp.name = "x"`.
inline constexpr llvm::StringLiteral nameAttrName = "tpsp.name";
/// Unit attribute of an argument: it is constant to differentiation, and no
/// gradient with respect to it is made.
inline constexpr llvm::StringLiteral frozenAttrName = "tpsp.frozen";
/// Argument attribute of a tensor of integers: they are in [0, this).
inline constexpr llvm::StringLiteral belowAttrName = "tpsp.below";
/// Argument attributes of a floating-point tensor: what its elements scatter
/// around, and their standard deviation, where a driver makes them up.
inline constexpr llvm::StringLiteral meanAttrName = "tpsp.mean";
inline constexpr llvm::StringLiteral deviationAttrName = "tpsp.deviation";
/// Argument attribute of a parameter: the standard deviation with which a
/// training run begins it, if that is another.
inline constexpr llvm::StringLiteral initialDeviationAttrName =
    "tpsp.initial_deviation";
/// Argument attribute of a tensor of integers: which part of a batch it is
/// (Abi/DataRole.h).
inline constexpr llvm::StringLiteral dataAttrName = "tpsp.data";
/// Result attribute: this is the gradient of the argument of that number.
inline constexpr llvm::StringLiteral gradientAttrName = "tpsp.gradient_of";
/// Unit attribute of a result that the program does not return: a choice,
/// decided by comparing numbers. Whoever evaluates the program elsewhere must
/// know it.
inline constexpr llvm::StringLiteral choiceAttrName = "tpsp.choice";
/// Argument attribute: this is the cotangent of the result of that number.
inline constexpr llvm::StringLiteral cotangentAttrName = "tpsp.cotangent_of";
/// Argument attribute of a parameter: the subscripts at which its gradient is
/// wanted, those of its optimizer's state. Without it they are its own.
inline constexpr llvm::StringLiteral gradientAtAttrName = "tpsp.gradient_at";
/// Argument attribute: it lasts from step to step beside the parameters. The
/// number of its parameter; -1 for a number of the step's own, which begins as
/// its tpsp.mean.
inline constexpr llvm::StringLiteral stateAttrName = "tpsp.state_of";
/// Unit attribute of such an argument: it begins as the parameter.
inline constexpr llvm::StringLiteral masterAttrName = "tpsp.master";
/// Unit attribute of an argument: a number that the driver sets for each step,
/// "learning_rate" or "step" by its name.
inline constexpr llvm::StringLiteral scalarAttrName = "tpsp.scalar";
/// Argument attributes of a parameter: its own optimizer, by name, and what its
/// learning rate is multiplied by.
inline constexpr llvm::StringLiteral optimizerAttrName = "tpsp.optimizer";
inline constexpr llvm::StringLiteral learningRateAttrName =
    "tpsp.learning_rate";
/// Function attribute: this is the update of that function's parameters
/// (tpsp-build-update).
inline constexpr llvm::StringLiteral updateOfAttrName = "tpsp.update_of";
/// Attribute of such a function: the gradients that it takes are multiplied by
/// this f64, or by the argument of this i64.
inline constexpr llvm::StringLiteral lossScaleAttrName = "tpsp.loss_scale";
/// Result attribute: this takes the place of the argument of that number.
inline constexpr llvm::StringLiteral updatesAttrName = "tpsp.updates";
/// Unit attribute of operations that belong to the update.
inline constexpr llvm::StringLiteral updateAttrName = "tpsp.update";
/// Attribute of an operation with several results: an array with a dictionary
/// for each of them. It stands for the operation's own name and the result
/// attributes below (ResultAttrs.h).
inline constexpr llvm::StringLiteral resultsAttrName = "tpsp.results";
/// Unit attribute of a result that is a parameter's gradient, or a summand of
/// one.
inline constexpr llvm::StringLiteral weightAttrName = "tpsp.weight_gradient";
/// Attribute of a result that an update takes: the numbers of the arguments
/// whose gradients it is, from tpsp-compose-step to tpsp-note-gradients.
inline constexpr llvm::StringLiteral gradientsAttrName = "tpsp.gradients";
/// Unit attribute of operations that belong to the backward pass.
inline constexpr llvm::StringLiteral backwardAttrName = "tpsp.backward";
/// Unit attribute of a result whose placement is a proposal of the compiler's
/// and no wish of the user's. tpsp-insert-collectives may leave the result as
/// it comes out.
inline constexpr llvm::StringLiteral proposedAttrName = "tpsp.proposed";
/// A sentence on what was decided about the result, for the explanation.
inline constexpr llvm::StringLiteral noteAttrName = "tpsp.note";
/// Number of the micro-batch that an operation belongs to.
inline constexpr llvm::StringLiteral partAttrName = "tpsp.part";
/// The share, from 0 to 1, of the collectives that an operation causes which
/// must be hidden under computation (tpsp-require-overlap).
inline constexpr llvm::StringLiteral overlapAttrName = "tpsp.overlap";
/// Unit attribute of operations that are cheap to rematerialise for the size of
/// their results: mode "selective" does not save these.
inline constexpr llvm::StringLiteral recomputeAttrName = "tpsp.recompute";
/// Unit attribute of operations of the backward pass that rematerialise one of
/// the forward pass.
inline constexpr llvm::StringLiteral recomputedAttrName = "tpsp.recomputed";
/// On a loop of a kernel whose length is not known before it runs: how often it
/// is gone through, on average. f64.
inline constexpr llvm::StringLiteral tripsAttrName = "tpsp.trips";

} // namespace tpsp

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tpsp/Dialect/Tpsp/IR/TpspAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tpsp/Dialect/Tpsp/IR/TpspTypes.h.inc"

#include "tpsp/Dialect/Tpsp/IR/TpspInterfaces.h.inc"

#endif // TPSP_DIALECT_TPSP_IR_TPSPDIALECT_H
