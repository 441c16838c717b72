// tpsp-set-mesh: sets sizes of the mesh.
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"

#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_SETMESH
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

} // namespace
