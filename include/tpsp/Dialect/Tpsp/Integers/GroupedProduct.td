#ifndef TPSP_DIALECT_TPSP_INTEGERS_GROUPEDPRODUCT_TD
#define TPSP_DIALECT_TPSP_INTEGERS_GROUPEDPRODUCT_TD

include "mlir/IR/OpBase.td"

def Tpsp_GroupedProductOpInterface : OpInterface<"GroupedProductOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that may be a product of two tensors in which integers choose,
    for every row, one of several matrices. One by one, or grouped, no matrix
    meets the rows of another.
  }];
  let methods = [
    InterfaceMethod<[{
        The index along which the first operand chooses, if the operation is
        such a product of its two other operands, as it stands; else empty. One
        tensor has the index: a factor, or the result.}],
      "::llvm::StringRef", "getChosenIndex">
  ];
}

#endif // TPSP_DIALECT_TPSP_INTEGERS_GROUPEDPRODUCT_TD
