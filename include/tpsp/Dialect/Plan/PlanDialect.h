/// The plan dialect: what one rank does, command by command. See PlanOps.td.
#ifndef TPSP_DIALECT_PLAN_PLANDIALECT_H
#define TPSP_DIALECT_PLAN_PLANDIALECT_H

#include "tpsp/Abi/CommandKind.h"
#include "tpsp/Abi/Commands.h"
#include "tpsp/Abi/LedgerRow.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <vector>

namespace tpsp {

/// For the uniquing of #plan.ledger: places and commands do not count.
bool operator==(const LedgerRow &a, const LedgerRow &b);
llvm::hash_code hash_value(const LedgerRow &row);

} // namespace tpsp

namespace tpsp::plan {

/// Kinds of buffers that last the whole step.
inline constexpr llvm::StringLiteral inputKind = "input";
inline constexpr llvm::StringLiteral parameterKind = "parameter";
inline constexpr llvm::StringLiteral stateKind = "state";
inline constexpr llvm::StringLiteral outputKind = "output";
inline constexpr llvm::StringLiteral gradientKind = "gradient";
inline constexpr llvm::StringLiteral choiceKind = "choice";
/// Buffers that last from their first write to their last use.
inline constexpr llvm::StringLiteral temporaryKind = "temporary";

/// Attribute of an input buffer of integers: they are in [0, this).
inline constexpr llvm::StringLiteral belowAttrName = "below";

/// Attributes of an argument's buffer of floating-point numbers: around what,
/// and with which standard deviation, a driver makes them up.
inline constexpr llvm::StringLiteral meanAttrName = "mean";
inline constexpr llvm::StringLiteral deviationAttrName = "deviation";
inline constexpr llvm::StringLiteral initialDeviationAttrName =
    "initial_deviation";

/// Attribute of an input buffer of integers: "tokens", ... (Abi/DataRole.h).
inline constexpr llvm::StringLiteral dataAttrName = "data";

/// Attributes of a state's buffer: the number of the parameter that it is of,
/// and, unit, whether it begins as that.
inline constexpr llvm::StringLiteral stateOfAttrName = "state_of";
inline constexpr llvm::StringLiteral masterAttrName = "master";

/// Unit attribute of an input buffer: a number that the driver sets for each
/// step.
inline constexpr llvm::StringLiteral scalarAttrName = "scalar";

/// Attribute of a gradient's buffer: the number of the argument that it is of.
inline constexpr llvm::StringLiteral gradientOfAttrName = "gradient_of";

/// Attribute of an input buffer that is a cotangent: the number of the result
/// that it is of.
inline constexpr llvm::StringLiteral cotangentOfAttrName = "cotangent_of";

/// Attribute of an argument's buffer: the number of the result that takes its
/// place.
inline constexpr llvm::StringLiteral updatedByAttrName = "updated_by";

/// On a command: its PlanCommand::phase (Abi/Plan.h), if not 0.
inline constexpr llvm::StringLiteral phaseAttrName = "phase";

/// The runtime's number for an element type (tpsp_rt.h).
int64_t runtimeType(mlir::Type elementType);

/// Bytes of a buffer.
int64_t bytesOf(mlir::Type memref);

/// What CommandOpInterface asks of every command.
mlir::LogicalResult verifyCommand(mlir::Operation *op);

} // namespace tpsp::plan

#include "tpsp/Dialect/Plan/PlanDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tpsp/Dialect/Plan/PlanAttrs.h.inc"
#include "tpsp/Dialect/Plan/PlanInterfaces.h.inc"
#define GET_OP_CLASSES
#include "tpsp/Dialect/Plan/PlanOps.h.inc"

namespace tpsp::plan {
/// The buffer that a value is or is part of, through views and tiles.
BufferOp bufferOf(mlir::Value value);

/// The tile that a value is, through views; null if it is a whole buffer. Tiles
/// are not of tiles.
TileOp tileOf(mlir::Value value);

/// The steps of a matmul's epilogue; none if it has none, or if a name is
/// unknown, which is verified.
std::vector<rt::EpilogueStep> epilogueOf(MatmulOp matmul);

/// What a verified call is in the runtime.
rt::AttentionCommand commandOf(AttentionOp op);
rt::AttentionCommand commandOf(AttentionGradientOp op);

/// The attribute that names the steps; null for none.
mlir::ArrayAttr epilogueAttr(mlir::Builder &builder,
                             llvm::ArrayRef<rt::EpilogueStep> steps);
} // namespace tpsp::plan

#endif // TPSP_DIALECT_PLAN_PLANDIALECT_H
