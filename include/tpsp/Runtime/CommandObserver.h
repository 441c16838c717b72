/// Who is told of the commands that ranks have run.
#ifndef TPSP_RUNTIME_COMMANDOBSERVER_H
#define TPSP_RUNTIME_COMMANDOBSERVER_H

#include "tpsp/Abi/tpsp_rt.h"

#include <chrono>

namespace tpsp::rt {

class CommandObserver {
public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~CommandObserver() = default;

  /// Rank `rank` has run `command`, from `begin` to `end`, whenever it was
  /// issued. Called on the thread that ran it: for one stream of one rank in
  /// order, for several streams and ranks at once.
  virtual void ran(int64_t rank, const tpsp_rt_command &command, Time begin,
                   Time end) = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_COMMANDOBSERVER_H
