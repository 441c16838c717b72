/// The plan dialect: one rank's program, command by command. See PlanOps.td.
#ifndef TPSP_DIALECT_PLAN_PLANDIALECT_H
#define TPSP_DIALECT_PLAN_PLANDIALECT_H

#include "tpsp/Abi/CommandKind.h"
#include "tpsp/Abi/Commands.h"
#include "tpsp/Abi/LedgerRow.h"
#include "tpsp/Abi/Plan.h"

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

/// Equality and hash by which #plan.ledger is uniqued: places and commands are
/// ignored.
bool operator==(const LedgerRow &a, const LedgerRow &b);
llvm::hash_code hash_value(const LedgerRow &row);

} // namespace tpsp

namespace tpsp::plan {

/// The runtime's number for an element type (tpsp_rt.h).
int64_t runtimeType(mlir::Type elementType);

/// Bytes of a buffer.
int64_t bytesOf(mlir::Type memref);

/// Verifies the constraints of CommandOpInterface.
mlir::LogicalResult verifyCommand(mlir::Operation *op);

} // namespace tpsp::plan

#include "tpsp/Dialect/Plan/PlanDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tpsp/Dialect/Plan/PlanAttrs.h.inc"
#include "tpsp/Dialect/Plan/PlanInterfaces.h.inc"
#define GET_OP_CLASSES
#include "tpsp/Dialect/Plan/PlanOps.h.inc"

namespace tpsp::plan {
/// The buffer that a value is, or is part of through views and tiles.
BufferOp bufferOf(mlir::Value value);

/// The tile that a value is, through views; null if it is a whole buffer. A
/// tile's source is never a tile.
TileOp tileOf(mlir::Value value);

/// The form of a verified matmul, without its epilogue.
rt::MatmulForm formOf(MatmulOp op);
rt::GroupedMatmulCommand commandOf(GroupedMatmulOp op);

/// The steps of a matmul's epilogue; none if it has none. Also none if a name
/// is unknown, which the verifier refuses.
std::vector<rt::EpilogueStep> epilogueOf(MatmulOp matmul);

/// The runtime command of a verified call.
rt::AttentionCommand commandOf(AttentionOp op);
rt::AttentionGradientCommand commandOf(AttentionGradientOp op);

/// The attribute that names the steps; null for none.
mlir::ArrayAttr epilogueAttr(mlir::Builder &builder,
                             llvm::ArrayRef<rt::EpilogueStep> steps);
} // namespace tpsp::plan

#endif // TPSP_DIALECT_PLAN_PLANDIALECT_H
