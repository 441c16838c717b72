#include "CpuStream.h"

#include "CopyRows.h"

#include "tpsp/Abi/ElementType.h"

#include <omp.h>

#include <algorithm>

namespace tpsp::rt {
namespace {

/// The addresses of a kernel's buffers.
struct KernelState final : CommandState {
  std::vector<void *> addresses;
};

} // namespace

void CpuStream::adoptThread() const {
  // Of this thread only: oneDNN and our own loops take it as their default.
  omp_set_num_threads(threads);
}

Status CpuStream::run(const StreamCommand &command) {
  using Clock = std::chrono::steady_clock;
  CommandObserver *observer = parts.world.config.observer;
  auto begin = observer ? Clock::now() : Clock::time_point();
  Status status = perform(*command.call, command.record);
  if (observer)
    observer->ran(parts.rank, *command.call->origin, begin, Clock::now());
  return status;
}

Status CpuStream::perform(Call &call, int64_t record) {
  Collectives &collectives = parts.collectives;
  const AnyCommand &command = call.command;
  switch (call.kind) {
  case CallKind::matmul:
    return matmul(call, std::get<MatmulCommand>(command));
  case CallKind::kernel:
    return kernel(call, std::get<KernelCommand>(command));
  case CallKind::attention:
  case CallKind::attention_gradient:
    return attention(call, std::get<AttentionCommand>(command));
  case CallKind::slice:
    return slice(call, std::get<ShardCommand>(command));
  case CallKind::all_reduce:
    return collectives.allReduce(call, std::get<AllReduceCommand>(command),
                                 memory());
  case CallKind::all_gather:
    return collectives.allGather(call, std::get<ShardCommand>(command),
                                 memory());
  case CallKind::reduce_scatter:
    return collectives.reduceScatter(call, std::get<ShardCommand>(command),
                                     memory());
  case CallKind::all_to_all:
    return collectives.allToAll(call, std::get<AllToAllCommand>(command),
                                memory());
  case CallKind::permute:
    return collectives.permute(call, std::get<PermuteCommand>(command),
                               memory());
  case CallKind::event_record:
    parts.events.record(std::get<EventCommand>(command).event, record);
    return {};
  case CallKind::event_wait:
    return parts.events.wait(std::get<EventCommand>(command).event, record);
  }
  return {TPSP_RT_UNSUPPORTED, "no such command"};
}

Status CpuStream::kernel(Call &call, const KernelCommand &command) {
  if (!call.state) {
    auto fresh = std::make_unique<KernelState>();
    for (size_t i = 0; i < call.buffers.size(); ++i)
      fresh->addresses.push_back(buffer(call, i));
    call.state = std::move(fresh);
  }
  void *const *addresses =
      static_cast<KernelState &>(*call.state).addresses.data();
  const int64_t *positions = call.positions.data();
  int64_t parts = std::min<int64_t>(threads, command.grid);
  if (parts <= 1) {
    if (command.grid > 0)
      call.kernel(addresses, positions, 0, command.grid);
    return {};
  }
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int64_t part = 0; part < parts; ++part)
    call.kernel(addresses, positions, command.grid * part / parts,
                command.grid * (part + 1) / parts);
  return {};
}

Status CpuStream::slice(Call &call, const ShardCommand &command) {
  int64_t run = command.chunk * elementBytes(command.dtype);
  copyRows(buffer(call, 1), command.runPitch() * elementBytes(command.dtype),
           buffer(call, 0) + call.group.self * run, call.group.size() * run,
           command.outer, run);
  return {};
}

} // namespace tpsp::rt
