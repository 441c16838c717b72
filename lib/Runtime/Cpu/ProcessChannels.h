/// The channels of a process's rank: one for each list of mesh axes on each
/// stream.
#ifndef TPSP_RUNTIME_CPU_PROCESSCHANNELS_H
#define TPSP_RUNTIME_CPU_PROCESSCHANNELS_H

#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/Transport.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace tpsp::rt {

/// Opened before a plan runs, because opening takes all processes, and which
/// groups a plan uses one process alone cannot tell the others in time.
class ProcessChannels {
public:
  /// UNSUPPORTED if the mesh has more axes of several ranks than maxAxes.
  Status open(const BackendContext &world);

  /// Null if the ranks (ascending) are no group of the mesh.
  Channel *find(int64_t stream, const std::vector<int64_t> &ranks) const;

private:
  /// There are two to the power of this groups on each stream.
  static constexpr size_t maxAxes = 8;

  Status openGroup(const BackendContext &world, int64_t stream,
                   const std::vector<int64_t> &axes);

  std::map<std::pair<int64_t, std::vector<int64_t>>, std::unique_ptr<Channel>>
      channels;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_PROCESSCHANNELS_H
