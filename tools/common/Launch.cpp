#include "Launch.h"

#include "ToolOptions.h"

#include "tpsp/Runtime/TransportPlugin.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

using namespace tpsp;
using namespace tpsp::tool;

/// Others may still write to this process's memory or wait for it: neither the
/// world is taken down nor MPI left in order. mpirun ends the rest.
[[noreturn]] static void leaveFailed(rt::Transport &transport) {
  std::fflush(nullptr);
  transport.leave();
  std::_Exit(Failed);
}

rt::Status Launch::join() {
  return rt::isUnderLauncher() ? rt::openTransport(other) : rt::Status();
}

int Launch::fail(const std::string &message) {
  bool speaks = true;
  if (other) {
    other->announceFailure(message);
    speaks = other->isReporter();
  }
  if (speaks)
    fmt::print(stderr, "{}: {}\n", tool, message);
  if (other)
    leaveFailed(*other);
  return Failed;
}

int Launch::fail(const rt::Status &status) {
  if (other && status.code() == TPSP_RT_ABORTED)
    leaveFailed(*other);
  return fail(status.message());
}

int Launch::finish(int code) {
  if (other)
    other->finish();
  return code;
}

int Launch::run(ToolOptions &options, const std::function<int(bool)> &parse,
                const std::function<int()> &carryOut) {
  // A file that may grow no further is then an error of its write.
  std::signal(SIGXFSZ, SIG_IGN);
  if (rt::Status status = join(); !status.ok())
    return fail(status);
  int code = parse(/*isSilent=*/!isFirst());
  if (code < 0) {
    options.quiet = options.quiet || !isFirst();
    code = carryOut();
  }
  return finish(code);
}
