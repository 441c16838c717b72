// One process among those that mpirun started, or the only one.
#ifndef TPSP_TOOLS_COMMON_LAUNCH_H
#define TPSP_TOOLS_COMMON_LAUNCH_H

#include "AgreedOptions.h"

#include "tpsp/Runtime/Transport.h"

#include <functional>
#include <string>

namespace tpsp::tool {

/// What a tool does with its command line, and after it.
struct MainProgram {
  /// Parses. Returns -1 to go on, else what to exit with. Prints what it has to
  /// say, or keeps it in `said` if that is not null.
  std::function<int(std::string *said)> parse;
  /// What all processes must have been told alike. Called after parse().
  std::function<Agreed()> agreed;
  /// Does what was asked for; returns what to exit with.
  std::function<int()> carryOut;
};

/// The processes of a run. One of them speaks for all: the first, or the first
/// of those that fail.
class Launch {
public:
  /// `tool`: what messages begin with.
  explicit Launch(std::string tool) : tool(std::move(tool)) {}

  /// Null if this process is alone.
  rt::Transport *transport() const { return other; }
  bool isFirst() const { return !other || other->rank() == 0; }

  /// Joins the other processes if mpirun started this one. UNSUPPORTED with a
  /// sentence if that cannot be.
  rt::Status join();
  /// Ends with `code`, in order with the others.
  int finish(int code);
  /// Prints what went wrong, unless another process does, and returns the
  /// status to exit with; among several processes does not return. A message of
  /// another rank than the first says which it is.
  int fail(const std::string &message);
  /// The same; what another process reported (ABORTED) is not said again.
  int fail(const rt::Status &status);

  /// All of a tool's main(): joins, parses the command line, meets the other
  /// processes, and does what is asked for, quietly unless this process is the
  /// first. A command line that one process refuses ends all of them, soon and
  /// in order, and so does an option that they were told differently.
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
