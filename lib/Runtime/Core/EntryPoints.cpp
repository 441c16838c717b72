#include "RankContext.h"

#include <fmt/format.h>

#include <exception>

using namespace tpsp::rt;

namespace {

template <typename Command>
using Method = Status (BackendRank::*)(Call &, const Command &);

/// Finds the call, checks its place in the step and hands it to the backend.
template <typename Command>
Status dispatch(tpsp_rt_rank &rank, CallKind kind,
                const tpsp_rt_command &command, Method<Command> method) {
  Call *call = nullptr;
  if (Status status = rank.findCall(kind, command, call); !status.ok())
    return status;
  if (rank.aborted.load(std::memory_order_relaxed))
    return inCall(*call, {TPSP_RT_ABORTED, "another rank or stream failed"});
  if (Status status = rank.followOrder(*call); !status.ok())
    return status;
  Status status =
      (rank.backend.get()->*method)(*call, std::get<Command>(call->command));
  return status.ok() ? status : inCall(*call, status);
}

/// The body of every entry point: nothing is thrown into generated code.
template <typename Command>
tpsp_rt_status issue(tpsp_rt_rank *rank, CallKind kind,
                     const tpsp_rt_command *command, Method<Command> method) {
  if (!rank || !command)
    return TPSP_RT_INVALID;
  try {
    Status status = dispatch(*rank, kind, *command, method);
    return status.ok() ? TPSP_RT_OK : rank->fail(status);
  } catch (const std::exception &error) {
    return rank->fail({TPSP_RT_INTERNAL,
                       fmt::format("{}: {}", callName(kind), error.what())});
  }
}

} // namespace

tpsp_rt_status tpsp_rt_matmul(tpsp_rt_rank *rank,
                              const tpsp_rt_command *command) {
  return issue(rank, CallKind::matmul, command, &BackendRank::matmul);
}

tpsp_rt_status tpsp_rt_kernel(tpsp_rt_rank *rank,
                              const tpsp_rt_command *command) {
  return issue(rank, CallKind::kernel, command, &BackendRank::kernel);
}

tpsp_rt_status tpsp_rt_attention(tpsp_rt_rank *rank,
                                 const tpsp_rt_command *command) {
  return issue(rank, CallKind::attention, command, &BackendRank::attention);
}

tpsp_rt_status tpsp_rt_attention_gradient(tpsp_rt_rank *rank,
                                          const tpsp_rt_command *command) {
  return issue(rank, CallKind::attention_gradient, command,
               &BackendRank::attentionGradient);
}

tpsp_rt_status tpsp_rt_slice(tpsp_rt_rank *rank,
                             const tpsp_rt_command *command) {
  return issue(rank, CallKind::slice, command, &BackendRank::slice);
}

tpsp_rt_status tpsp_rt_all_reduce(tpsp_rt_rank *rank,
                                  const tpsp_rt_command *command) {
  return issue(rank, CallKind::all_reduce, command, &BackendRank::allReduce);
}

tpsp_rt_status tpsp_rt_all_gather(tpsp_rt_rank *rank,
                                  const tpsp_rt_command *command) {
  return issue(rank, CallKind::all_gather, command, &BackendRank::allGather);
}

tpsp_rt_status tpsp_rt_reduce_scatter(tpsp_rt_rank *rank,
                                      const tpsp_rt_command *command) {
  return issue(rank, CallKind::reduce_scatter, command,
               &BackendRank::reduceScatter);
}

tpsp_rt_status tpsp_rt_all_to_all(tpsp_rt_rank *rank,
                                  const tpsp_rt_command *command) {
  return issue(rank, CallKind::all_to_all, command, &BackendRank::allToAll);
}

tpsp_rt_status tpsp_rt_permute(tpsp_rt_rank *rank,
                               const tpsp_rt_command *command) {
  return issue(rank, CallKind::permute, command, &BackendRank::permute);
}

tpsp_rt_status tpsp_rt_event_record(tpsp_rt_rank *rank,
                                    const tpsp_rt_command *command) {
  return issue(rank, CallKind::event_record, command,
               &BackendRank::eventRecord);
}

tpsp_rt_status tpsp_rt_event_wait(tpsp_rt_rank *rank,
                                  const tpsp_rt_command *command) {
  return issue(rank, CallKind::event_wait, command, &BackendRank::eventWait);
}

const char *tpsp_rt_last_error(const tpsp_rt_rank *rank) {
  return rank ? rank->lastError.c_str() : "";
}
