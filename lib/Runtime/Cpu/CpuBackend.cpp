#include "CpuBackend.h"

#include "tpsp/Runtime/BuiltinBackends.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace tpsp::rt {
namespace {

/// The addresses of a kernel's buffers.
struct KernelState final : CommandState {
  std::vector<void *> addresses;
};

constexpr std::align_val_t scratchAlignment{64};

} // namespace

void registerCpuBackend() {
  registerBackend(
      "cpu",
      [](const BackendContext &world, std::unique_ptr<Backend> &out) -> Status {
        if (Status status =
                checkMemory(world.mesh.numRanks(), world.config.arenaBytes);
            !status.ok())
          return status;
        out = std::make_unique<CpuBackend>(world);
        return {};
      });
}

Status CpuBackend::createRank(int64_t rank, std::unique_ptr<BackendRank> &out) {
  auto created = std::make_unique<CpuRank>(*this, world.config.threadsPerRank);
  Status status = created->initialize(world.config.arenaBytes);
  if (status.ok())
    out = std::move(created);
  return status;
}

Rendezvous &CpuBackend::rendezvous(const std::vector<int64_t> &ranks) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Rendezvous> &place = places[ranks];
  if (!place) {
    place = std::make_unique<Rendezvous>(world, ranks);
    if (aborted)
      place->abort();
  }
  return *place;
}

void CpuBackend::abort() {
  std::lock_guard<std::mutex> lock(mutex);
  aborted = true;
  for (auto &entry : places)
    entry.second->abort();
}

ScratchBuffer::~ScratchBuffer() { ::operator delete(memory, scratchAlignment); }

std::byte *ScratchBuffer::reserve(size_t bytes) {
  if (bytes <= size)
    return memory;
  ::operator delete(memory, scratchAlignment);
  memory = nullptr;
  size = 0;
  memory = static_cast<std::byte *>(::operator new(bytes, scratchAlignment));
  size = bytes;
  return memory;
}

Status CpuRank::initialize(int64_t arenaBytes) {
  // Of this thread only: oneDNN and our own loops take it as their default.
  omp_set_num_threads(threads);
  return arena.allocate(arenaBytes);
}

Status CpuRank::kernel(Call &call, const KernelCommand &command) {
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

Status CpuRank::write(int64_t offset, const void *source, int64_t bytes) {
  if (bytes > 0)
    std::memcpy(arena.data() + offset, source, bytes);
  return {};
}

Status CpuRank::read(int64_t offset, void *destination, int64_t bytes) {
  if (bytes > 0)
    std::memcpy(destination, arena.data() + offset, bytes);
  return {};
}

void *CpuRank::hostAddress(int64_t offset) {
  return arena.data() ? arena.data() + offset : nullptr;
}

} // namespace tpsp::rt
