#include "ProcessChannels.h"

#include <fmt/format.h>

#include <algorithm>

namespace tpsp::rt {

Status ProcessChannels::open(const BackendContext &world) {
  std::vector<int64_t> wide;
  for (size_t axis = 0; axis < world.mesh.axes().size(); ++axis)
    if (world.mesh.axes()[axis].size > 1)
      wide.push_back(int64_t(axis));
  if (wide.size() > maxAxes)
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("a mesh with {} axes of more than one rank; between "
                        "processes there may be {}",
                        wide.size(), maxAxes)};
  for (int64_t stream = 0; stream < world.config.numStreams; ++stream)
    for (size_t subset = 1; subset < size_t(1) << wide.size(); ++subset) {
      std::vector<int64_t> axes;
      for (size_t i = 0; i < wide.size(); ++i)
        if (subset >> i & 1)
          axes.push_back(wide[i]);
      TPSP_TRY(openGroup(world, stream, axes));
    }
  return {};
}

Status ProcessChannels::openGroup(const BackendContext &world, int64_t stream,
                                  const std::vector<int64_t> &axes) {
  Transport &transport = *world.config.transport;
  RankGroup group;
  TPSP_TRY(world.mesh.group(transport.rank(), axes, group));
  std::sort(group.ranks.begin(), group.ranks.end());
  return transport.openChannel(group.ranks.front(),
                               channels[{stream, group.ranks}]);
}

Channel *ProcessChannels::find(int64_t stream,
                               const std::vector<int64_t> &ranks) const {
  auto found = channels.find({stream, ranks});
  return found == channels.end() ? nullptr : found->second.get();
}

} // namespace tpsp::rt
