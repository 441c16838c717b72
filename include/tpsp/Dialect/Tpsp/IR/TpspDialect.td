#ifndef TPSP_DIALECT_TPSP_DIALECT_TD
#define TPSP_DIALECT_TPSP_DIALECT_TD

include "mlir/IR/OpBase.td"

def Tpsp_Dialect : Dialect {
  let name = "tpsp";
  let cppNamespace = "::tpsp";
  let summary = "Sharded einsum programs over named indices";
  let description = [{
    Tensors carry named indices with mesh-axis subscripts in their type's
    encoding, `tensor<2x128x256xf32, #tpsp.idx<b, s@tp, d>>`. Shapes are global
    until `tpsp-partition`, per rank afterwards. Only collectives move or remove
    a subscript.

    Version log:
      1: first version.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasRegionArgAttrVerify = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// `call`, `repeat` and `return` of a function in short form.
    std::optional<ParseOpHook>
    getParseOperationHook(::llvm::StringRef opName) const override;
  }];
}

#endif // TPSP_DIALECT_TPSP_DIALECT_TD
