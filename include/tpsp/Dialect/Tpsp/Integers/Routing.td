#ifndef TPSP_DIALECT_TPSP_INTEGERS_ROUTING_TD
#define TPSP_DIALECT_TPSP_INTEGERS_ROUTING_TD

include "mlir/IR/OpBase.td"

def Tpsp_RoutingOpInterface : OpInterface<"RoutingOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that assigns places to the choices of tokens. There may be too
    few places.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the number of choices without a place, in f32 and unplaced, for
        each group that assigns places by itself. Null if every choice finds a
        place.}],
      "::mlir::Value", "buildDropped", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif // TPSP_DIALECT_TPSP_INTEGERS_ROUTING_TD
