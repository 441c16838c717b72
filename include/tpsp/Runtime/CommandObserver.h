/// Who is told of the commands that ranks issue.
#ifndef TPSP_RUNTIME_COMMANDOBSERVER_H
#define TPSP_RUNTIME_COMMANDOBSERVER_H

#include "tpsp/Runtime/tpsp_rt.h"

#include <chrono>

namespace tpsp::rt {

class CommandObserver {
public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~CommandObserver() = default;

  /// Rank `rank` has handed `command` to the backend, which took from `begin`
  /// to `end`. A backend that runs commands at once (`cpu`) has run it; one
  /// that enqueues them has enqueued it. Called on the rank's thread, in
  /// program order; of several ranks at once.
  virtual void issued(int64_t rank, const tpsp_rt_command &command, Time begin,
                      Time end) = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_COMMANDOBSERVER_H
