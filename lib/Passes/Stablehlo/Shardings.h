/// Meshes and placements in Shardy's notation.
#ifndef TPSP_LIB_PASSES_STABLEHLO_SHARDINGS_H
#define TPSP_LIB_PASSES_STABLEHLO_SHARDINGS_H

#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp::hlo {

/// The shardings of one module.
class Shardings {
public:
  /// Of the module that `op` is in, which may have no mesh.
  explicit Shardings(mlir::Operation *op);

  /// Makes the `sdy.mesh`.
  void declareMesh(mlir::OpBuilder &b);

  /// `#sdy.sharding<@mesh, [{"tp"}, {}]>` of a tensor that is placed, and not
  /// partial. Null without a mesh.
  mlir::Attribute of(mlir::Type type);

  /// Whether the placement of a result has to be said: it is placed, not
  /// partial, and not what its operands' placements say by name. They say it
  /// where none is partial and every axis is on one index, in all tensors that
  /// have the index.
  bool mustSay(mlir::OpResult result);

private:
  MeshOp mesh;
};

} // namespace tpsp::hlo

#endif // TPSP_LIB_PASSES_STABLEHLO_SHARDINGS_H
