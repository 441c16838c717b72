#include "CpuStream.h"

#include "CopyRows.h"
#include "CpuAttention.h"

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
  // Applies to this thread only. oneDNN and tpsp's own loops use it as their
  // default.
  omp_set_num_threads(threads);
}

/// Runs the command of each call.
struct CpuStream::Performer {
  CpuStream &stream;
  Call &call;
  const int64_t record;

  template <typename Command> Status operator()(const Command &command) const {
    if constexpr (isCollective<Command>)
      return stream.parts.collectives.run(call,
                                          {stream.parts.arena, stream.scratch});
    else
      return perform(command);
  }

  Status perform(const MatmulCommand &command) const {
    return stream.matmul(call, command);
  }
  Status perform(const GroupedMatmulCommand &command) const {
    return stream.groupedMatmul(call, command);
  }
  Status perform(const KernelCommand &command) const {
    return stream.kernel(call, command);
  }
  Status perform(const AttentionCommand &command) const {
    return stream.attention(call, command);
  }
  Status perform(const AttentionGradientCommand &command) const {
    return stream.attention(call, command);
  }
  Status perform(const SliceCommand &command) const {
    copyBlocks(copyOfPiece(
        wholeOf(command, 0, call.group.size(), stream.buffer(call, 0)),
        call.group.self, partOf(command, 0, stream.buffer(call, 1)), 0));
    return {};
  }
  Status perform(const EventRecordCommand &command) const {
    stream.parts.events.record(command.event, record);
    return {};
  }
  Status perform(const EventWaitCommand &command) const {
    return stream.parts.events.wait(command.event, record);
  }
};

Status CpuStream::run(const StreamCommand &command) {
  using Clock = std::chrono::steady_clock;
  // The waits of streams for each other's actions are no commands of the plan.
  bool isOfPlan = command.call->id >= 0;
  CommandObserver *observer = isOfPlan ? parts.world.config.observer : nullptr;
  auto begin = observer ? Clock::now() : Clock::time_point();
  Status status = std::visit(Performer{*this, *command.call, command.record},
                             command.call->command);
  if (observer)
    observer->ran(parts.rank, *command.call->origin, begin, Clock::now());
  return status;
}

std::vector<std::byte *> CpuStream::addresses(const Call &call) const {
  std::vector<std::byte *> buffers;
  for (size_t i = 0; i < call.buffers.size(); ++i)
    buffers.push_back(buffer(call, i));
  return buffers;
}

template <typename Command>
Status CpuStream::attention(Call &call, const Command &command) {
  if (!call.state)
    call.state =
        prepareAttention(command, call.positions[0], threads, addresses(call));
  return static_cast<PreparedAttention &>(*call.state).run(scratch);
}

Status CpuStream::kernel(Call &call, const KernelCommand &command) {
  if (!call.state) {
    auto fresh = std::make_unique<KernelState>();
    std::vector<std::byte *> buffers = addresses(call);
    fresh->addresses.assign(buffers.begin(), buffers.end());
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

} // namespace tpsp::rt
