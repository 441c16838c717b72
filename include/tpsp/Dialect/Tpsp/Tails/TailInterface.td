#ifndef TPSP_DIALECT_TPSP_TAILS_TAILINTERFACE_TD
#define TPSP_DIALECT_TPSP_TAILS_TAILINTERFACE_TD

include "mlir/IR/OpBase.td"

def Tpsp_TailOpInterface : OpInterface<"TailOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that may run with a padded index: one with more positions than
    the program says. Those behind the end are the index's tail (Tail.h). The
    rules of all operations are in `lib/Dialect/Tpsp/*Tails.cpp`. A composite
    without a rule, or whose rule refuses, is taken apart.
  }];
  let methods = [
    InterfaceMethod<[{
        Asked for a padded `index` that an operand or the first result carries,
        while types have the extents that the program says. `operands` is what
        each operand holds in the tail; of an operand that lacks the index, any
        numbers. Puts there what the operation needs instead, so that its result
        is right before the end. Sets `result` to what the result then holds in
        the tail, if it carries the index. Numbers stay finite, and so do
        derivatives. Returns why no operand would make the result right; nothing
        if one does.}],
      "::llvm::StringRef", "carryTail",
      (ins "::llvm::StringRef":$index,
           "::llvm::MutableArrayRef<::tpsp::Tail>":$operands,
           "::tpsp::Tail &":$result)>
  ];
}

#endif // TPSP_DIALECT_TPSP_TAILS_TAILINTERFACE_TD
