/// Matmuls on the CPU, with one prepared object per command.
///
/// A matmul has *points* (its batch). Each point has *steps* (its
/// accumulation), and each step is one library call on matrices. Points are
/// independent. Many small points are split over the threads; for few or large
/// points the library uses all threads.
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
  /// Computes into `c`. `a`, `b` and `c` are the starts of the command's
  /// buffers.
  virtual Status run(const std::byte *a, const std::byte *b, std::byte *c,
                     ScratchBuffer &scratch) = 0;
};

/// Prepares a checked `command` for `threads` threads. Its epilogue is empty,
/// or adds to C. UNSUPPORTED for integers. Called on the stream's thread.
Status prepareMatmul(const MatmulCommand &command, int threads,
                     std::unique_ptr<PreparedMatmul> &out);

// The functions below get commands with at least one point and one step, and
// with no extent of 0.
/// For f32 (float) or f64 (double).
template <typename T>
Status prepareGemm(const MatmulCommand &command, int threads,
                   std::unique_ptr<PreparedMatmul> &out);
/// For 16-bit elements: by the library, or by conversion if the library lacks
/// the type.
Status prepareHalfMatmul(const MatmulCommand &command, int threads,
                         std::unique_ptr<PreparedMatmul> &out);
Status prepareConvertedMatmul(const MatmulCommand &command, int threads,
                              std::unique_ptr<PreparedMatmul> &out);

/// C = alpha A B + beta C, row-major, in f32 by oneDNN or in f64. In f64, only
/// large products outside a team use all threads. With `transposeA`, A is
/// stored as [k, m].
template <typename T> struct Gemm {
  int64_t m, n, k, lda, ldb, ldc;
  bool transposeA, transposeB;
  T alpha = 1, beta = 0;

  Status run(const T *a, const T *b, T *c) const;
};

/// The number of the available threads that share `products` products of
/// `flops` FLOPs each; 1 if the library uses all threads itself.
int threadsOver(int64_t products, double flops, int available);

/// The order in which a command's points and steps are processed.
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

  /// Calls body(thread, point) -> Status for every point. Returns a failure if
  /// there is one. `thread` is below `threads`.
  template <typename Body> Status forEachPoint(const Body &body) const;

  std::vector<MatmulLoop> batch, accumulate;
  int64_t points = 1, steps = 1;
  /// Threads that share the points; 1 if the library uses all threads itself.
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
