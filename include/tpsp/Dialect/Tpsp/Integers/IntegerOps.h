/// Operations on positions: lookups, routing. See IntegerOps.td.
#ifndef TPSP_DIALECT_TPSP_INTEGERS_INTEGEROPS_H
#define TPSP_DIALECT_TPSP_INTEGERS_INTEGEROPS_H

#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h"
#include "tpsp/Dialect/Tpsp/Integers/Routing.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir {
class PatternRewriter;
} // namespace mlir

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h.inc"

#endif // TPSP_DIALECT_TPSP_INTEGERS_INTEGEROPS_H
