/// Seeds of what draws numbers: the program's own, and above it, in the upper
/// 32 bits, the number of the call (tpsp-seed-calls).
#ifndef TPSP_PASSES_LOGICAL_SEEDCALLS_H
#define TPSP_PASSES_LOGICAL_SEEDCALLS_H

#include "mlir/IR/Attributes.h"

namespace tpsp {

/// The attribute as it was before its call had a seed of its own.
mlir::NamedAttribute withWrittenSeed(mlir::NamedAttribute attribute);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_SEEDCALLS_H
