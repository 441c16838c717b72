/// The processes of a world that has one rank in each process.
#ifndef TPSP_RUNTIME_CORE_PROCESSGROUP_H
#define TPSP_RUNTIME_CORE_PROCESSGROUP_H

#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Runtime/Transport.h"
#include "tpsp/Runtime/WorldConfig.h"

#include <functional>
#include <memory>

namespace tpsp::rt {

/// Communication of processes outside a plan's collectives. All processes call
/// the same functions in the same order.
class ProcessGroup {
public:
  /// Meets the other processes. INVALID if there is not one process for each
  /// rank of the mesh, or if another process has another plan or another size
  /// of memory. TIMEOUT names the missing ranks.
  static Status create(const WorldConfig &config, const RankMesh &mesh,
                       std::unique_ptr<ProcessGroup> &out);

  int64_t rank() const { return transport.rank(); }

  /// Returns when all processes have called it. TIMEOUT names the missing
  /// ranks.
  Status meet();

  /// The same without a time limit, for waits on another process's work.
  Status waitForFirst();

  /// Replaces `value` by the sum of all processes' values.
  Status sum(int64_t &value);

  /// Sends `memory` of the processes whose rank is wanted to the process with
  /// rank 0, which calls `body` in the order of ranks. Waits, without a time
  /// limit, until rank 0 calls it too.
  Status collect(void *memory, int64_t bytes,
                 const std::function<bool(int64_t rank)> &wanted,
                 const std::function<Status(int64_t, const void *)> &body);

  /// Tells the other processes of a failure that began here.
  void announce(int64_t rank, const Status &failure);

private:
  ProcessGroup(const WorldConfig &config)
      : transport(*config.transport), timeoutSeconds(config.timeoutSeconds) {}

  /// exchangeAll() of Meeting.h, with the run's timeout.
  Status exchange(const std::vector<uint64_t> &mine, const char *what,
                  std::vector<std::vector<uint64_t>> &all);
  Status checkAgreement(const WorldConfig &config);

  Transport &transport;
  const double timeoutSeconds;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_PROCESSGROUP_H
