/// Operations that assign places to the choices of tokens, and the count of
/// choices that found none.
#ifndef TPSP_DIALECT_TPSP_INTEGERS_ROUTING_H
#define TPSP_DIALECT_TPSP_INTEGERS_ROUTING_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "tpsp/Dialect/Tpsp/Integers/Routing.h.inc"

namespace tpsp {

/// Unit attribute of a floating-point result that the program itself does not
/// return: a count. It has no gradient, and so no cotangent.
inline constexpr llvm::StringLiteral countAttrName = "tpsp.count";

/// The name of the result that counts choices without a place.
inline constexpr llvm::StringLiteral droppedName = "dropped";

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_INTEGERS_ROUTING_H
