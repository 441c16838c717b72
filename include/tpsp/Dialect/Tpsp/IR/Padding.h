/// Which indices of a program are padded, and to which extents.
#ifndef TPSP_DIALECT_TPSP_IR_PADDING_H
#define TPSP_DIALECT_TPSP_IR_PADDING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace tpsp {

/// Module attribute, `{v = 50264 : i64}`: the extents that padded indices will
/// run with, set by tpsp-set-padding. Types still have the extents of the
/// program; axes must divide the padded ones.
inline constexpr llvm::StringLiteral paddingAttrName = "tpsp.padding";
/// Module attribute, `{v = array<i64: 50257, 50264>}`: for each index that is
/// padded in the types, its extent in the program and its padded extent
/// (tpsp-pad-extents).
inline constexpr llvm::StringLiteral unpaddedAttrName = "tpsp.unpadded";

/// The extent that module attribute `attribute` gives `index`; nullopt if it
/// gives none.
std::optional<int64_t> extentIn(mlir::ModuleOp module,
                                llvm::StringRef attribute,
                                llvm::StringRef index);

/// The shape that `type` runs with: its extents, padded as `tpsp.padding` of
/// the module of `op` says.
llvm::SmallVector<int64_t> shapeToRun(mlir::Operation *op,
                                      mlir::RankedTensorType type);

/// Marks the module as to be padded, by extents that are not known yet. Until
/// tpsp-set-padding sets them, axes need not divide extents.
void leavePaddingOpen(mlir::ModuleOp module);
/// Whether the module of `op` is marked so.
bool isPaddingOpen(mlir::Operation *op);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_PADDING_H
