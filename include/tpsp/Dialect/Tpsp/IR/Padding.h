/// Which indices of a program are padded, and to what.
#ifndef TPSP_DIALECT_TPSP_IR_PADDING_H
#define TPSP_DIALECT_TPSP_IR_PADDING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace tpsp {

/// Module attribute, `{v = 50264 : i64}`: the extents with which indices are to
/// run, where these are more than the program says (tpsp-set-padding). Types
/// still say what the program says; axes need to divide the larger.
inline constexpr llvm::StringLiteral paddingAttrName = "tpsp.padding";
/// Module attribute, `{v = array<i64: 50257, 50264>}`: of indices that are
/// padded in its types, the extents that the program said and those that there
/// are (tpsp-pad-extents).
inline constexpr llvm::StringLiteral unpaddedAttrName = "tpsp.unpadded";

/// What module attribute `attribute` says of `index`; nullopt if nothing.
std::optional<int64_t> extentIn(mlir::ModuleOp module,
                                llvm::StringRef attribute,
                                llvm::StringRef index);

/// The shape with which a tensor in the module of `op` runs, by
/// `tpsp.padding`.
llvm::SmallVector<int64_t> shapeToRun(mlir::Operation *op,
                                      mlir::RankedTensorType type);

/// Says that the module will be padded, and nothing of how: until
/// tpsp-set-padding knows more, axes need to divide nothing.
void leavePaddingOpen(mlir::ModuleOp module);
/// Whether that holds of the module of `op`.
bool isPaddingOpen(mlir::Operation *op);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_PADDING_H
