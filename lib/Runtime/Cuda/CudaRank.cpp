#include "CudaRank.h"

#include "../Core/PeerPieces.h"
#include "Runtime/Cuda/Kernels/CudaKernel.h"
#include "Runtime/Cuda/Products/CudaGroupedMatmul.h"
#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <numeric>

namespace tpsp::rt {
namespace {

/// The state of a command that has run and needs no state.
struct Used final : CommandState {};

} // namespace

CudaRank::CudaRank(CudaWorld &world, int64_t rank)
    : world(world), rank(rank), device(world.devices.deviceOf(rank)),
      communicators(world.context, rank, device, *world.meetings,
                    world.aborted),
      copies(world.builtinKernels, world.threads),
      nccl(world.builtinKernels, communicators, *world.meetings),
      capture(streams) {}

CudaRank::~CudaRank() {
  if (capture.isActive())
    capture.drop();
  if (!failure.ok() || world.aborted)
    drain();
}

Status CudaRank::initialize() {
  TPSP_CUDA(cudaSetDevice, device);
  TPSP_TRY(arena.allocate(world.context.config.arenaBytes, "an arena",
                          world.context.config.arenaConsumers));
  TPSP_TRY(createStreams());
  TPSP_TRY(createEvents());
  TPSP_TRY(cublas.create());
  TPSP_TRY(world.builtinKernels.bringToDevice(device, hasWarpgroups));
  return world.devices.usesNccl ? communicators.create(world.devices.id)
                                : Status();
}

Status CudaRank::createStreams() {
  // Communication has the higher priority, because other ranks wait for it.
  int lowest = 0, highest = 0;
  TPSP_CUDA(cudaDeviceGetStreamPriorityRange, &lowest, &highest);
  bool isTimed = world.context.config.observer;
  for (int64_t i = 0; i < world.context.config.numStreams; ++i) {
    streams.push_back(std::make_unique<CudaStream>());
    TPSP_TRY(streams.back()->create(i == 0 ? lowest : highest, isTimed));
  }
  return {};
}

Status CudaRank::createEvents() {
  for (int64_t i = 0; i < world.context.config.numEvents; ++i) {
    events.emplace_back();
    TPSP_TRY(events.back().create());
  }
  if (world.context.config.cuda.replayed && recordsSteps()) {
    TPSP_TRY(replayBegin.create(/*isTimed=*/true));
    TPSP_TRY(replayEnd.create(/*isTimed=*/true));
  }
  if (!world.context.config.observer)
    return {};
  TPSP_TRY(base.create(/*isTimed=*/true));
  return takeBase();
}

/// Times are measured from a recent event, because CUDA returns them as floats.
/// The host's time is taken before the event. So commands from before the
/// previous base stay before those that run after this one.
Status CudaRank::takeBase() {
  baseTime = Clock::now();
  TPSP_CUDA(cudaEventRecord, base.get(), streams[0]->get());
  TPSP_CUDA(cudaStreamSynchronize, streams[0]->get());
  return {};
}

Collectives<CudaStream> &CudaRank::collectivesOf(const Call &call) {
  bool isAlone =
      call.group.size() == 1 && !world.context.config.cuda.ncclAlways;
  if (world.devices.usesNccl && !isAlone)
    return nccl;
  return copies;
}

Status CudaRank::beginOrder(const std::vector<GroupUse> &groups, bool isFirst) {
  hasOrders = true;
  isThroughHost = isFirst || !world.devices.usesNccl;
  nccl.meetsAlways = isFirst;
  if (!isFirst || !world.devices.usesNccl)
    return {};
  TPSP_TRY(nccl.prepare(groups, *streams[0], [&] { return settle(); }));
  // All ranks of the world have met.
  return world.post->open(groups);
}

Status CudaRank::transferThroughHost(Call &call) {
  const auto &command = std::get<TransferCommand>(call.command);
  std::vector<std::byte> bytes(
      size_t(command.count * elementBytes(command.dtype)));
  int64_t offset = call.buffers[0], size = int64_t(bytes.size());
  TPSP_TRY(settle());
  if (world.devices.usesNccl && !call.state)
    nccl.adopt(call);
  if (call.group.self == 0) {
    TPSP_TRY(read(offset, bytes.data(), size));
    return world.post->send(call, std::move(bytes));
  }
  TPSP_TRY(world.post->receive(call, bytes));
  return write(offset, bytes.data(), size);
}

struct CudaRank::Enqueuer {
  CudaRank &rank;
  Call &call;
  CudaStream &stream;

  template <typename Command> Status operator()(const Command &command) const {
    if constexpr (std::is_same_v<Command, TransferCommand>)
      if (rank.isThroughHost)
        return rank.transferThroughHost(call);
    if constexpr (isCollective<Command>)
      return rank.collectivesOf(call).run(call, {rank.arena.data(), stream});
    else
      return enqueue(command);
  }

  std::vector<std::byte *> buffers() const {
    std::vector<std::byte *> addresses;
    for (int64_t offset : call.buffers)
      addresses.push_back(rank.arena.data() + offset);
    return addresses;
  }

  Status enqueue(const MatmulCommand &command) const {
    if (call.state)
      return static_cast<CudaMatmul &>(*call.state).run(stream);
    std::unique_ptr<CudaMatmul> fresh;
    TPSP_TRY(beginCudaMatmul(command, buffers(), rank.cublas,
                             rank.world.builtinKernels, stream, fresh));
    call.state = std::move(fresh);
    return {};
  }

  Status enqueue(const GroupedMatmulCommand &command) const {
    if (!call.state) {
      auto fresh = std::make_unique<CudaGroupedMatmul>();
      TPSP_TRY(fresh->prepare(command, call.positions[0], buffers(),
                              rank.hasWarpgroups));
      call.state = std::move(fresh);
    }
    return static_cast<CudaGroupedMatmul &>(*call.state)
        .run(rank.world.builtinKernels, stream);
  }

  Status enqueue(const KernelCommand &command) const {
    if (!call.state) {
      auto fresh = std::make_unique<CudaKernel>();
      TPSP_TRY(fresh->prepare(call, command, rank.arena.data(), rank.device,
                              rank.world.images));
      call.state = std::move(fresh);
    }
    return static_cast<CudaKernel &>(*call.state).launch(stream.get());
  }

  Status enqueue(const AttentionCommand &command) const {
    if (!call.state) {
      std::unique_ptr<CudaAttention> fresh;
      TPSP_TRY(prepareCudaAttention(
          command, call.kind == CallKind::attention_gradient, call.positions[0],
          buffers(), rank.attentionContext, fresh));
      call.state = std::move(fresh);
    }
    return static_cast<CudaAttention &>(*call.state)
        .run(rank.world.builtinKernels, stream);
  }

  Status enqueue(const SliceCommand &command) const {
    StridedCopy copy = copyOfPiece(
        wholeOf(command, 0, call.group.size(), rank.buffer(call, 0)),
        call.group.self, partOf(command, 0, rank.buffer(call, 1)), 0);
    return rank.world.builtinKernels.copy(copy, stream.get());
  }

  Status enqueue(const EventRecordCommand &command) const {
    TPSP_CUDA(cudaEventRecord, rank.events[size_t(command.event)].get(),
              stream.get());
    return {};
  }

  Status enqueue(const EventWaitCommand &command) const {
    TPSP_CUDA(cudaStreamWaitEvent, stream.get(),
              rank.events[size_t(command.event)].get(), 0);
    return {};
  }
};

Status CudaRank::run(Call &call) {
  CudaStream &stream = *streams[size_t(call.stream)];
  Enqueuer enqueuer{*this, call, stream};
  if (capture.isActive()) {
    if (call.state)
      return std::visit(enqueuer, call.command);
    return {TPSP_RT_UNSUPPORTED,
            "a command that the first step had not was to be captured"};
  }
  // The first use of a command may load code, and the driver then waits until
  // the GPU is idle. If an NCCL collective is on the GPU, and its other ranks
  // also wait like this, the wait never ends. So the rank settles first.
  if (!call.state && world.devices.usesNccl)
    TPSP_TRY(settle());
  TPSP_TRY(stream.markBefore(call));
  TPSP_TRY(std::visit(enqueuer, call.command));
  if (!call.state)
    call.state = std::make_unique<Used>();
  return stream.markBehind(call);
}

bool CudaRank::recordsSteps() const {
  // Ranks that share a GPU meet on the host in every collective, which a graph
  // cannot do. An observer needs the times of single commands, which a graph
  // does not give. A graph may run branches one after another, and a transfer
  // on one may wait for a stage that waits for the other.
  const WorldConfig &config = world.context.config;
  if (config.cuda.graphs == GraphUse::Off || world.devices.isShared ||
      config.observer || hasOrders)
    return false;
  bool mayBlock = world.devices.usesNccl && !world.devices.isProcess &&
                  world.context.mesh.numRanks() > 1;
  return config.cuda.graphs == GraphUse::On || !mayBlock;
}

Status CudaRank::beginRecording() {
  for (const auto &stream : streams)
    stream->keepScratch();
  Status status = capture.begin();
  return status.ok() ? status : agreeOnGraph(status);
}

Status CudaRank::endRecording(std::unique_ptr<RecordedStep> &out) {
  std::unique_ptr<StepGraph> graph;
  TPSP_TRY(agreeOnGraph(capture.end(graph)));
  graphs.push_back(graph->executable);
  out = std::move(graph);
  return {};
}

void CudaRank::dropRecording() {
  capture.drop();
  (void)agreeOnGraph({TPSP_RT_UNSUPPORTED, "the step was not recorded"});
}

/// This meeting also ensures that no rank launches a graph before all ranks
/// have uploaded theirs. An upload may wait for running commands, and these may
/// wait for other ranks.
Status CudaRank::agreeOnGraph(const Status &mine) {
  std::vector<int64_t> ranks(size_t(world.context.mesh.numRanks()));
  std::iota(ranks.begin(), ranks.end(), int64_t(0));
  Call recording;
  recording.kind = CallKind::event_record;
  recording.name = "the recording of a step";
  recording.command = EventRecordCommand();
  bool all = false;
  Status met = world.meetings->agree(recording, rank, ranks, mine.ok(), all);
  // A rank that does not come has left the run.
  if (!met.ok() && failure.ok())
    failure = inCall(recording, met);
  if (!mine.ok())
    return mine;
  TPSP_TRY(met);
  return all ? Status()
             : Status(TPSP_RT_UNSUPPORTED,
                      "another rank could not record its own");
}

Status CudaRank::replay(RecordedStep &step) {
  const StepGraph &graph = static_cast<StepGraph &>(step);
  cudaStream_t stream = streams[0]->get();
  if (replayBegin.exists())
    TPSP_CUDA(cudaEventRecord, replayBegin.get(), stream);
  TPSP_TRY(graph.executable->launch(stream));
  isReplaying = true;
  if (replayEnd.exists())
    TPSP_CUDA(cudaEventRecord, replayEnd.get(), stream);
  return {};
}

Status CudaRank::write(int64_t offset, const void *source, int64_t bytes) {
  return transfer(arena.data() + offset, source, bytes, cudaMemcpyHostToDevice);
}

Status CudaRank::read(int64_t offset, void *destination, int64_t bytes) {
  return transfer(destination, arena.data() + offset, bytes,
                  cudaMemcpyDeviceToHost);
}

/// cudaMemcpy is not used: it may return before the copy has ended, and tpsp's
/// streams do not wait for it.
Status CudaRank::transfer(void *target, const void *source, int64_t bytes,
                          cudaMemcpyKind kind) {
  if (bytes == 0)
    return {};
  cudaStream_t stream = streams[0]->get();
  TPSP_CUDA(cudaMemcpyAsync, target, source, size_t(bytes), kind, stream);
  Status status =
      checkCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  // The caller may free the host memory after this function, even if it fails.
  if (!status.ok())
    drain();
  return status;
}

std::string CudaRank::streamActivity() {
  std::string text;
  for (size_t i = 0; i < streams.size(); ++i)
    if (const Call *call = streams[i]->current())
      text +=
          fmt::format("{}stream {} is at {} \"{}\"", text.empty() ? "" : ", ",
                      i, callName(call->kind), call->name);
  return text;
}

} // namespace tpsp::rt
