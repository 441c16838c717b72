#ifndef TPSP_DIALECT_TPSP_TAILS_TAILINTERFACE_TD
#define TPSP_DIALECT_TPSP_TAILS_TAILINTERFACE_TD

include "mlir/IR/OpBase.td"

def Tpsp_TailOpInterface : OpInterface<"TailOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that may run with a padded index: one with more positions than
    the program says. The positions after the end are the index's tail (Tail.h).
    The rules of all operations are in `lib/Dialect/Tpsp/Tails/*Tails.cpp`. A
    composite without a rule, or whose rule refuses, is decomposed.
  }];
  let methods = [
    InterfaceMethod<[{
        Carries tails through the operation. Called for a padded `index` that an
        operand or the first result carries, while types have the extents of the
        program. `operands` are the tails of the operands, any numbers for an
        operand that lacks the index. Replaces them by the tails that the
        operation needs for a result that is right before the end. Sets `result`
        to the result's tail, if it carries the index. Numbers stay finite, and
        so do derivatives. Returns why no tails would make the result right, or
        an empty string.}],
      "::llvm::StringRef", "carryTail",
      (ins "::llvm::StringRef":$index,
           "::llvm::MutableArrayRef<::tpsp::Tail>":$operands,
           "::tpsp::Tail &":$result)>
  ];
}

#endif // TPSP_DIALECT_TPSP_TAILS_TAILINTERFACE_TD
