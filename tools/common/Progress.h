// Progress on standard error, for anything that takes longer than a second.
#ifndef TPSP_TOOLS_COMMON_PROGRESS_H
#define TPSP_TOOLS_COMMON_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tpsp::tool {

/// Shows the current phase once it has taken a second. A terminal gets one line
/// that is rewritten; a file gets one line for each phase.
class Progress {
public:
  explicit Progress(bool quiet);
  ~Progress();

  /// Ends the last phase and begins this one.
  void phase(const std::string &text);
  /// Says how far the phase is.
  void detail(const std::string &text);
  /// Ends the last phase and clears the line.
  void done();

private:
  void watch();
  void show();
  void clear();

  const bool quiet, isTerminal;
  std::mutex mutex;
  std::condition_variable wake;
  std::string text, more;
  std::chrono::steady_clock::time_point begin;
  bool active = false, shown = false, stop = false;
  std::thread watcher;
};

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_PROGRESS_H
