/// Meshes and placements in Shardy's notation.
#ifndef TPSP_LIB_PASSES_STABLEHLO_SHARDINGS_H
#define TPSP_LIB_PASSES_STABLEHLO_SHARDINGS_H

#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp::hlo {

/// The shardings of one module.
class Shardings {
public:
  /// For the module that `op` is in, which may have no mesh.
  explicit Shardings(mlir::Operation *op);

  /// Creates the `sdy.mesh`.
  void declareMesh(mlir::OpBuilder &b);

  /// `#sdy.sharding<@mesh, [{"tp"}, {}]>` for a tensor that is placed and not
  /// partial. Null without a mesh.
  mlir::Attribute of(mlir::Type type);

  /// Whether a result needs a sharding constraint. It does if it is placed, not
  /// partial, and its operands' placements do not imply its placement by name.
  /// They imply it if none is partial, and each axis is on a single index in
  /// all tensors that have this index.
  bool mustSay(mlir::OpResult result);

private:
  MeshOp mesh;
};

} // namespace tpsp::hlo

#endif // TPSP_LIB_PASSES_STABLEHLO_SHARDINGS_H
