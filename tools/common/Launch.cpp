#include "Launch.h"

#include "ToolOptions.h"

#include "tpsp/Runtime/Meeting.h"
#include "tpsp/Runtime/TransportPlugin.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

using namespace tpsp;
using namespace tpsp::tool;

/// Exits without destroying the world or finalising MPI, because other
/// processes may still write to this process's memory or wait for it. mpirun
/// ends the others.
[[noreturn]] static void leaveFailed(rt::Transport &transport) {
  std::fflush(nullptr);
  transport.leave();
  std::_Exit(Failed);
}

rt::Status Launch::join() {
  return rt::isUnderLauncher() ? rt::openTransport(other) : rt::Status();
}

/// Adds the rank to a message that does not begin with one. The first rank is
/// not named.
static std::string withRank(const std::string &message, int64_t rank) {
  bool hasRank = message.rfind("rank ", 0) == 0;
  return rank == 0 || hasRank ? message
                              : fmt::format("rank {}: {}", rank, message);
}

int Launch::fail(const std::string &message) {
  if (!other) {
    fmt::print(stderr, "{}: {}\n", tool, message);
    return Failed;
  }
  std::string text = withRank(message, other->rank());
  // The first process prints before it announces the failure, because the
  // announcement ends the others.
  if (isFirst())
    fmt::print(stderr, "{}: {}\n", tool, text);
  other->announceFailure(text);
  if (!isFirst() && other->isReporter())
    fmt::print(stderr, "{}: {}\n", tool, text);
  leaveFailed(*other);
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

/// Prints the messages about this process's command line. If all processes have
/// the same messages, only the first prints them.
void Launch::printRefusal(int code, const std::string &said,
                          bool isOfAll) const {
  if (isOfAll && !isFirst())
    return;
  std::FILE *stream = code == Done ? stdout : stderr;
  std::string text = said, begin = tool + ": ";
  if (!isOfAll && code == Done)
    text = begin + "asks for help, and the others do not; give all processes "
                   "the same\n";
  if (!isOfAll && text.rfind(begin, 0) == 0)
    text.insert(begin.size(), fmt::format("rank {}: ", other->rank()));
  fmt::print(isOfAll ? stream : stderr, "{}", text);
  std::fflush(stream);
}

/// Exchanges the results of parsing, then compares the options. Returns -1 to
/// go on, else the exit status.
int Launch::meet(const ToolOptions &options, int code, const std::string &said,
                 const std::function<Agreed()> &agreed) {
  constexpr const char *what = "to begin";
  bool goesOn = code < 0;
  Agreed mine = goesOn ? agreed() : Agreed();
  std::vector<std::vector<uint64_t>> all;
  rt::Status met = rt::exchangeAll(
      *other, {goesOn ? 0 : uint64_t(code) + 1, agreedText("", said).second},
      what, options.timeout, all);
  if (!met.ok())
    return fail(met);
  bool isOfAll =
      rt::differingRanks(all, 0).empty() && rt::differingRanks(all, 1).empty();
  if (!goesOn)
    printRefusal(code, said, isOfAll);
  if (!isOfAll)
    return Usage;
  if (!goesOn)
    return code;
  met = checkAgreed(*other, mine, options.timeout);
  return met.ok() ? -1 : fail(met);
}

int Launch::run(ToolOptions &options, const MainProgram &main) {
  // A write beyond the file size limit then fails with an error, instead of
  // ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  if (rt::Status status = join(); !status.ok())
    return fail(status);
  std::string said;
  int code = main.parse(other ? &said : nullptr);
  if (other)
    code = meet(options, code, said, main.agreed);
  if (code < 0) {
    options.quiet = options.quiet || !isFirst();
    code = main.carryOut();
  }
  return finish(code);
}
