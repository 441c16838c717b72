#ifndef TPSP_DIALECT_TPSP_IR_MESHOP_TD
#define TPSP_DIALECT_TPSP_IR_MESHOP_TD

include "tpsp/Dialect/Tpsp/IR/TpspDialect.td"
include "mlir/IR/SymbolInterfaces.td"

def Tpsp_MeshOp : Op<Tpsp_Dialect, "mesh", [Symbol]> {
  let summary = "the device mesh of the module";
  let description = [{
    Named axes with sizes and, optionally, roles. Ranks are numbered row-major,
    first axis slowest.

    ```mlir
    tpsp.mesh @mesh <fsdp = 2 : data, tp = 4 : model>
    ```

    Constraints:
    - (M1) Axis names differ.
    - (M2) Sizes are at least 1.
    - (M3) A module has one mesh.
    - (M4) At most one axis has the role `stage`.
    - (M5) No tensor is sharded over an axis of that role, or partial over it.
    - (M6) A mesh has at most eight axes. Every operation weighs all ways to be divided by them.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axis_names,
                       DenseI64ArrayAttr:$axis_sizes, StrArrayAttr:$axis_roles);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::tpsp::Mesh getMesh();
  }];
}

#endif // TPSP_DIALECT_TPSP_IR_MESHOP_TD
