/// When each rank did what in a step, as a trace for Perfetto's or Chrome's
/// viewer (docs/Debugging.md).
#ifndef TPSP_RUNTIME_DRIVER_TIMELINE_H
#define TPSP_RUNTIME_DRIVER_TIMELINE_H

#include "tpsp/Runtime/CommandObserver.h"
#include "tpsp/Runtime/Manifest.h"

#include <string>
#include <vector>

namespace tpsp::rt {

/// Records the commands of the ranks since clear(). Goes into a WorldConfig.
class Timeline final : public CommandObserver {
public:
  /// Has room for one step, so that recording it allocates nothing.
  explicit Timeline(const Manifest &manifest);

  /// Forgets what was recorded. Not while the world runs.
  void clear();

  void issued(int64_t rank, const tpsp_rt_command &command, Time begin,
              Time end) override;

  /// The commands recorded must still exist. `manifest` as given to the
  /// constructor.
  std::string toJson(const Manifest &manifest) const;

private:
  struct Entry {
    const tpsp_rt_command *command;
    Time begin, end;
  };
  Time start() const;

  std::vector<std::vector<Entry>> ranks;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_TIMELINE_H
