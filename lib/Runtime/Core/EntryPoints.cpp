// The C functions of calls.def. Each finds its decoded command and gives it to
// the rank.
#include "RankContext.h"

#include <fmt/format.h>

#include <exception>

using namespace tpsp::rt;

namespace {

/// Finds the call, checks its place in the step and passes it to the backend.
Status dispatch(tpsp_rt_rank &rank, CallKind kind,
                const tpsp_rt_command &command) {
  Call *call = nullptr;
  TPSP_TRY(rank.findCall(kind, command, call));
  if (rank.aborted.load(std::memory_order_relaxed))
    return inCall(*call, abortedByAnother());
  TPSP_TRY(rank.followOrder(*call));
  Status status = rank.backend->run(*call);
  return status.ok() ? status : inCall(*call, status);
}

/// The body of every entry point. It throws nothing into generated code.
tpsp_rt_status issue(tpsp_rt_rank *rank, CallKind kind,
                     const tpsp_rt_command *command) {
  if (!rank || !command)
    return TPSP_RT_INVALID;
  try {
    Status status = dispatch(*rank, kind, *command);
    return status.ok() ? TPSP_RT_OK : rank->fail(status);
  } catch (const std::exception &error) {
    return rank->fail({TPSP_RT_INTERNAL,
                       fmt::format("{}: {}", callName(kind), error.what())});
  }
}

} // namespace

#define TPSP_RT_CALL(NAME, COMMAND, NATURE)                                    \
  tpsp_rt_status tpsp_rt_##NAME(tpsp_rt_rank *rank,                            \
                                const tpsp_rt_command *command) {              \
    return issue(rank, CallKind::NAME, command);                               \
  }
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL

const char *tpsp_rt_last_error(const tpsp_rt_rank *rank) {
  return rank ? rank->lastError.c_str() : "";
}
