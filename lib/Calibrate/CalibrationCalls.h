/// Calls of the runtime that a calibration times, on whatever backend.
#ifndef TPSP_LIB_CALIBRATE_CALIBRATIONCALLS_H
#define TPSP_LIB_CALIBRATE_CALIBRATIONCALLS_H

#include "CallTimes.h"

namespace tpsp::calibration {

/// Which operands of a product are stored transposed.
struct Transposes {
  bool a = false, b = false;
};

/// What the three products of an einsum's forward and backward pass transpose.
inline constexpr Transposes passTransposes[] = {
    {false, true}, {false, false}, {true, false}};

/// A dense product; its buffers are still to be placed.
CallSpec matmulCall(int64_t dtype, int64_t m, int64_t n, int64_t k,
                    Transposes transposes);

/// The integers of a collective of `bytes` (nccl-tests' size S) of f32 among
/// the `group` ranks of an axis.
rt::Params collectiveParams(CollectiveKind kind, int64_t bytes, int64_t group,
                            int64_t axis);

/// Such a collective on the first axis; its buffers are still to be placed.
CallSpec collectiveCall(CollectiveKind kind, int64_t bytes, int64_t group);

/// Adds a row for every kind that is measured, on the links inside a node.
void addCollectives(Hardware &hardware);

/// Adds what a collective of `bytes` takes to the group's table.
void addTime(CollectiveRates &rates, int64_t group, int64_t bytes,
             double seconds);

/// Latency and bus bandwidth of every row, from what was added for `group`.
void summarize(Hardware &hardware, int64_t group);

} // namespace tpsp::calibration

#endif // TPSP_LIB_CALIBRATE_CALIBRATIONCALLS_H
