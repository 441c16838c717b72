/// Operations that give choices of tokens places, and who tells what found
/// none.
#ifndef TPSP_DIALECT_TPSP_INTEGERS_ROUTING_H
#define TPSP_DIALECT_TPSP_INTEGERS_ROUTING_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "tpsp/Dialect/Tpsp/Integers/Routing.h.inc"

namespace tpsp {

/// Unit attribute of a floating-point result that the program does not return:
/// a count. It has no gradient, and so no cotangent.
inline constexpr llvm::StringLiteral countAttrName = "tpsp.count";

/// What the count of choices without a place is called.
inline constexpr llvm::StringLiteral droppedName = "dropped";

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_INTEGERS_ROUTING_H
