#ifndef TPSP_DIALECT_TPSP_INTEGERS_ROUTING_TD
#define TPSP_DIALECT_TPSP_INTEGERS_ROUTING_TD

include "mlir/IR/OpBase.td"

def Tpsp_RoutingOpInterface : OpInterface<"RoutingOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that gives choices of tokens places, of which there may be too
    few.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the number of choices without a place, for each group that gives
        them by itself, in f32, unplaced. Null if every choice finds one.}],
      "::mlir::Value", "buildDropped", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif // TPSP_DIALECT_TPSP_INTEGERS_ROUTING_TD
