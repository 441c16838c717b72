/// The counter-based random number generator of dropout, as IR.
#ifndef TPSP_DIALECT_TPSP_PHILOX_H
#define TPSP_DIALECT_TPSP_PHILOX_H

#include "mlir/IR/Builders.h"

namespace tpsp {

/// 32 random bits (i32): the first word of Philox-4x32-10. The counter is (low
/// word, high word, 0, 0) of `counter`, an i64; the key is (low word, high
/// word) of `seed`. (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as
/// easy as 1, 2, 3, SC 2011.)
mlir::Value emitPhilox(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value counter, int64_t seed);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_PHILOX_H
