/// Matmuls on the CPU: one prepared object per command.
///
/// A matmul has *points* (its batch) and, for each, *steps* (its accumulation);
/// every step is one library call on a rank-2 problem. Points are independent:
/// many small ones are split over the threads, few or large ones use all
/// threads inside the library.
#ifndef TPSP_RUNTIME_CPU_CPUMATMUL_H
#define TPSP_RUNTIME_CPU_CPUMATMUL_H

#include "../Core/MatmulOffsets.h"
#include "ScratchBuffer.h"
#include "tpsp/Runtime/Backend.h"

#include <atomic>
#include <cstddef>

namespace tpsp::rt {

class PreparedMatmul : public CommandState {
public:
  /// Computes into `c`. The operands are the starts of the command's buffers.
  virtual Status run(const std::byte *a, const std::byte *b, std::byte *c,
                     ScratchBuffer &scratch) = 0;
};

/// Prepares `command`, which has been checked, for `threads` threads.
/// UNSUPPORTED for integers. Called on the stream's thread.
Status prepareMatmul(const MatmulCommand &command, int threads,
                     std::unique_ptr<PreparedMatmul> &out);

// Those below have at least one point, step and element of each extent.
/// Of f32 (float) or f64 (double).
template <typename T>
Status prepareGemm(const MatmulCommand &command, int threads,
                   std::unique_ptr<PreparedMatmul> &out);
/// Of 16-bit elements, by the library or, where it has none, converted.
Status prepareHalfMatmul(const MatmulCommand &command, int threads,
                         std::unique_ptr<PreparedMatmul> &out);
Status prepareConvertedMatmul(const MatmulCommand &command, int threads,
                              std::unique_ptr<PreparedMatmul> &out);

/// C = alpha A B + beta C, in f32 with oneDNN, or in f64, where only large ones
/// outside of a team are on all threads. Row-major; `transposeA`: A is stored
/// as [k, m].
template <typename T> struct Gemm {
  int64_t m, n, k, lda, ldb, ldc;
  bool transposeA, transposeB;
  T alpha = 1, beta = 0;

  Status run(const T *a, const T *b, T *c) const;
};

/// How many of the available threads walk so many products, each of so many
/// FLOPs; 1 if the library uses them all itself.
int threadsOver(int64_t products, double flops, int available);

/// How a command's points and steps are walked.
struct MatmulWalk {
  MatmulWalk(const MatmulCommand &command, int threads);

  /// Point `index`, 0 <= index < points.
  MatmulOffsets point(int64_t index) const {
    return offsetsAt(batch, index, {});
  }
  /// Step `index` of a point.
  MatmulOffsets step(MatmulOffsets point, int64_t index) const {
    return offsetsAt(accumulate, index, point);
  }

  /// Calls body(thread, point) -> Status for every point, and returns a
  /// failure if there is one. `thread` is below `threads`.
  template <typename Body> Status forEachPoint(const Body &body) const;

  std::vector<MatmulLoop> batch, accumulate;
  int64_t points = 1, steps = 1;
  /// Threads that walk the points; 1 if the library uses them all itself.
  int threads = 1;
};

/// This thread's number in the innermost OpenMP team.
int teamThread();

template <typename Body>
Status MatmulWalk::forEachPoint(const Body &body) const {
  if (threads == 1) {
    for (int64_t i = 0; i < points; ++i)
      TPSP_TRY(body(0, point(i)));
    return {};
  }
  std::atomic<bool> failed{false};
  Status failure;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t i = 0; i < points; ++i) {
    Status status = body(teamThread(), point(i));
    if (!status.ok() && !failed.exchange(true))
      failure = std::move(status);
  }
  return failure;
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_CPUMATMUL_H
