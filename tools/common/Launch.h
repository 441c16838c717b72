// A process of a run: one of those that mpirun started, or the only one.
#ifndef TPSP_TOOLS_COMMON_LAUNCH_H
#define TPSP_TOOLS_COMMON_LAUNCH_H

#include "AgreedOptions.h"

#include "tpsp/Runtime/Transport.h"

#include <functional>
#include <string>

namespace tpsp::tool {

/// The steps of a tool's main(), which Launch::run() calls in order.
struct MainProgram {
  /// Parses the command line. Returns -1 to go on, else the exit status. Prints
  /// its messages, or stores them in `said` if it is not null.
  std::function<int(std::string *said)> parse;
  /// Returns the options on which all processes must agree. Called after
  /// parse().
  std::function<Agreed()> agreed;
  /// Does the tool's work and returns the exit status.
  std::function<int()> carryOut;
};

/// The processes of a run. Only one of them prints: the first process, or the
/// first one that fails.
class Launch {
public:
  /// Messages begin with `tool`.
  explicit Launch(std::string tool) : tool(std::move(tool)) {}

  /// Null if this process is alone.
  rt::Transport *transport() const { return other; }
  bool isFirst() const { return !other || other->rank() == 0; }

  /// Joins the other processes if mpirun started this one. Returns UNSUPPORTED
  /// if this build or machine cannot.
  rt::Status join();
  /// Shuts down in order with the other processes and returns `code`.
  int finish(int code);
  /// Prints the error, unless another process prints its own, and returns the
  /// exit status. With several processes it does not return. A message from any
  /// rank but the first names the rank.
  int fail(const std::string &message);
  /// The same for a status. An error that another process reported (ABORTED) is
  /// not printed again.
  int fail(const rt::Status &status);

  /// A tool's main(): joins, parses the command line, compares it with the
  /// other processes', and does the work. All but the first process are quiet.
  /// All processes exit promptly and in order if one rejects its command line
  /// or if their options differ.
  int run(ToolOptions &options, const MainProgram &main);

private:
  int meet(const ToolOptions &options, int code, const std::string &said,
           const std::function<Agreed()> &agreed);
  void printRefusal(int code, const std::string &said, bool isOfAll) const;

  std::string tool;
  rt::Transport *other = nullptr;
};

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_LAUNCH_H
