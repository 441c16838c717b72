/// The interface that is told of each command that a rank has run.
#ifndef TPSP_RUNTIME_COMMANDOBSERVER_H
#define TPSP_RUNTIME_COMMANDOBSERVER_H

#include "tpsp/Abi/tpsp_rt.h"

#include <chrono>

namespace tpsp::rt {

class CommandObserver {
public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~CommandObserver() = default;

  /// Called when rank `rank` has run `command`, from `begin` to `end`; it may
  /// have been issued much earlier. Called on the thread that ran the command.
  /// Calls for one stream of one rank are in order; calls for different streams
  /// and ranks are concurrent.
  virtual void ran(int64_t rank, const tpsp_rt_command &command, Time begin,
                   Time end) = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_COMMANDOBSERVER_H
