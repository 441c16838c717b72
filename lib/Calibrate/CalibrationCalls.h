/// Calls of the runtime that a calibration times, on any backend.
#ifndef TPSP_LIB_CALIBRATE_CALIBRATIONCALLS_H
#define TPSP_LIB_CALIBRATE_CALIBRATIONCALLS_H

#include "CallTimes.h"

namespace tpsp::calibration {

/// Whether each operand of a product is stored transposed.
struct Transposes {
  bool a = false, b = false;
};

/// The transposed operands of the three products of an einsum's forward and
/// backward pass.
inline constexpr Transposes passTransposes[] = {
    {false, true}, {false, false}, {true, false}};

/// A call of a dense product. The caller sets its buffers.
CallSpec matmulCall(int64_t dtype, int64_t m, int64_t n, int64_t k,
                    Transposes transposes);

/// The parameters of a collective of f32 among the `group` ranks of an axis.
/// `bytes` is nccl-tests' size S.
rt::Params collectiveParams(CollectiveKind kind, int64_t bytes, int64_t group,
                            int64_t axis);

/// A call of such a collective on the first axis. The caller sets its buffers.
CallSpec collectiveCall(CollectiveKind kind, int64_t bytes, int64_t group);

/// Adds a row for every measured kind, on the links inside a node.
void addCollectives(Hardware &hardware);

/// Adds the seconds of a collective of `bytes` to the group's table.
void addTime(CollectiveRates &rates, int64_t group, int64_t bytes,
             double seconds);

/// Computes latency and bus bandwidth of every row from the times for `group`.
void summarize(Hardware &hardware, int64_t group);

} // namespace tpsp::calibration

#endif // TPSP_LIB_CALIBRATE_CALIBRATIONCALLS_H
