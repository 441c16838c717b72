// tpsp-set-mesh and tpsp-set-element-type: set sizes of the mesh, or the type
// in which tensors are stored.
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/ProgramTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_SETMESH
#define GEN_PASS_DEF_SETELEMENTTYPE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

struct SetMesh : public WithOptions<tpsp::impl::SetMeshBase<SetMesh>,
                                    &CompileOptions::mesh> {
  void runOnOperation() override {
    MeshOp mesh = findMesh(getOperation());
    if (!mesh) {
      emitErrorAt(getOperation()) << "the module has no mesh to set; declare "
                                     "one: tpsp.mesh @mesh <tp = 4>";
      return signalPassFailure();
    }
    for (StringRef entry : options().mesh)
      if (failed(set(mesh, entry)))
        return signalPassFailure();
  }

private:
  LogicalResult set(MeshOp mesh, StringRef entry) {
    auto [name, text] = entry.split('=');
    int64_t size = 0;
    if (text.getAsInteger(10, size) || size < 1)
      return emitErrorAt(mesh)
             << "expected axis=size with a size of at least 1, not '" << entry
             << "'";
    SmallVector<int64_t> all(mesh.getAxisSizes());
    for (auto [i, axis] :
         llvm::enumerate(mesh.getAxisNames().getAsRange<StringAttr>())) {
      if (axis.getValue() != name)
        continue;
      all[i] = size;
      mesh.setAxisSizes(all);
      return success();
    }
    return emitErrorAt(mesh) << "the mesh has no axis '" << name
                             << "'; its axes are " << mesh.getMesh().names();
  }
};

struct SetElementType
    : public WithOptions<tpsp::impl::SetElementTypeBase<SetElementType>,
                         &CompileOptions::dtype> {
  void runOnOperation() override {
    Type wanted = floatTypeNamed(&getContext(), options().dtype);
    if (!wanted) {
      emitOptionError(getOperation(), getArgument(), "dtype")
          << "give the element type: f64, f32, bf16 or f16";
      return signalPassFailure();
    }
    replaceTensorTypes(getOperation(), [&](RankedTensorType tensor) {
      return isa<FloatType>(tensor.getElementType())
                 ? withElement(tensor, wanted)
                 : tensor;
    });
  }
};

} // namespace
