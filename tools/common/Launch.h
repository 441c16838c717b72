// One process among those that mpirun started, or the only one.
#ifndef TPSP_TOOLS_COMMON_LAUNCH_H
#define TPSP_TOOLS_COMMON_LAUNCH_H

#include "tpsp/Runtime/Transport.h"

#include <functional>
#include <string>

namespace tpsp::tool {

struct ToolOptions;

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
  /// status to exit with; among several processes does not return.
  int fail(const std::string &message);
  /// The same; what another process reported (ABORTED) is not said again.
  int fail(const rt::Status &status);

  /// All of a tool's main(): joins, parses the command line, and does what it
  /// asks for, quietly unless this process is the first. `parse` is told
  /// whether another process prints the same, and returns -1 to go on, else
  /// what to exit with.
  int run(ToolOptions &options, const std::function<int(bool isSilent)> &parse,
          const std::function<int()> &carryOut);

private:
  std::string tool;
  rt::Transport *other = nullptr;
};

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_LAUNCH_H
