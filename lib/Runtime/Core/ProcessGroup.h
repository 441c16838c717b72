/// The processes of a world that has one rank in each.
#ifndef TPSP_RUNTIME_CORE_PROCESSGROUP_H
#define TPSP_RUNTIME_CORE_PROCESSGROUP_H

#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Runtime/Transport.h"
#include "tpsp/Runtime/WorldConfig.h"

#include <functional>
#include <memory>

namespace tpsp::rt {

/// What processes do together beside a plan's collectives. All call the same
/// functions in the same order.
class ProcessGroup {
public:
  /// Meets the others. INVALID if there is not one process for each rank of the
  /// mesh, or if another process has another plan or other memory. TIMEOUT
  /// names who does not come.
  static Status create(const WorldConfig &config, const RankMesh &mesh,
                       std::unique_ptr<ProcessGroup> &out);

  int64_t rank() const { return transport.rank(); }

  /// Returns when all have come. TIMEOUT names who does not.
  Status meet();

  /// The same, however long another takes for what it does before it comes.
  Status waitForFirst();

  /// `value` becomes the sum of all processes' values.
  Status sum(int64_t &value);

  /// Sends `memory` of the processes whose rank is wanted to that of rank 0,
  /// which shows them to `body` in order of ranks. Waits as long as rank 0
  /// takes for what it does otherwise.
  Status collect(void *memory, int64_t bytes,
                 const std::function<bool(int64_t rank)> &wanted,
                 const std::function<Status(int64_t, const void *)> &body);

  /// Tells the others of a failure that began here.
  void announce(int64_t rank, const Status &failure);

private:
  ProcessGroup(const WorldConfig &config)
      : transport(*config.transport), timeoutSeconds(config.timeoutSeconds) {}

  /// exchangeAll() of Meeting.h, within the run's timeout.
  Status exchange(const std::vector<uint64_t> &mine, const char *what,
                  std::vector<std::vector<uint64_t>> &all);
  Status checkAgreement(const WorldConfig &config);

  Transport &transport;
  const double timeoutSeconds;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_PROCESSGROUP_H
