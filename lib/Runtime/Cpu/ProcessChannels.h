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

/// All channels are opened before the plan runs. Opening is collective, and a
/// process learns too late which groups the others use.
class ProcessChannels {
public:
  /// UNSUPPORTED if more than maxAxes axes of the mesh have several ranks.
  Status open(const BackendContext &world);

  /// The channel of these ranks (ascending). Null if they are not a group of
  /// the mesh.
  Channel *find(int64_t stream, const std::vector<int64_t> &ranks) const;

private:
  /// Each stream has two to the power of this many groups.
  static constexpr size_t maxAxes = 8;

  Status openGroup(const BackendContext &world, int64_t stream,
                   const std::vector<int64_t> &axes);

  std::map<std::pair<int64_t, std::vector<int64_t>>, std::unique_ptr<Channel>>
      channels;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_PROCESSCHANNELS_H
