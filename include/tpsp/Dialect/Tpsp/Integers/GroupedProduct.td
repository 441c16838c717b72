#ifndef TPSP_DIALECT_TPSP_INTEGERS_GROUPEDPRODUCT_TD
#define TPSP_DIALECT_TPSP_INTEGERS_GROUPEDPRODUCT_TD

include "mlir/IR/OpBase.td"

def Tpsp_GroupedProductOpInterface : OpInterface<"GroupedProductOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that may be a product of two tensors in which an integer
    chooses, for every row, one of several matrices. Whether computed row by row
    or in groups, each matrix multiplies only the rows that chose it.
  }];
  let methods = [
    InterfaceMethod<[{
        The index along which the first operand chooses, if the operation with
        its present operands is such a product of its other two; else empty.
        Exactly one tensor has the index: a factor or the result.}],
      "::llvm::StringRef", "getChosenIndex">
  ];
}

#endif // TPSP_DIALECT_TPSP_INTEGERS_GROUPEDPRODUCT_TD
