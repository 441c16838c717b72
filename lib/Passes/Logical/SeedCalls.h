/// Seeds of operations that draw: the program's own seed in the lower 32 bits,
/// the number of the call in the upper 32 bits (tpsp-seed-calls).
#ifndef TPSP_PASSES_LOGICAL_SEEDCALLS_H
#define TPSP_PASSES_LOGICAL_SEEDCALLS_H

#include "mlir/IR/Attributes.h"

namespace tpsp {

/// The attribute as the program wrote it, without the number of the call.
mlir::NamedAttribute withWrittenSeed(mlir::NamedAttribute attribute);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_SEEDCALLS_H
