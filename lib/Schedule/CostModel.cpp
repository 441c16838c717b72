#include "tpsp/Schedule/CostModel.h"
#include "SizeTable.h"

#include <algorithm>

using namespace tpsp;

CostModel::CostModel(const Hardware &hardware, const Mesh &mesh,
                     int64_t threadsPerRank)
    : hardware(hardware), mesh(mesh), threadsPerRank(threadsPerRank) {
  if (this->threadsPerRank <= 0)
    this->threadsPerRank =
        std::max<int64_t>(1, hardware.cores / mesh.numRanks());
}

double CostModel::coresPerRank() const {
  if (!hardware.isCpu())
    return double(hardware.cores);
  double share = double(hardware.cores) / double(mesh.numRanks());
  return std::min(double(threadsPerRank), share);
}

double CostModel::crowding() const {
  return hardware.isCpu() ? std::max(1.0, 1 / coresPerRank()) : 1;
}

double CostModel::slowdown() const {
  double cores = double(hardware.cores);
  return hardware.isCpu() ? 1 : cores / (cores - hardware.collectiveCores);
}

double CostModel::launchSeconds() const {
  return hardware.launchSeconds * crowding();
}

double CostModel::handoffSeconds() const {
  return hardware.handoffSeconds * crowding();
}

double CostModel::stepSeconds() const {
  return hardware.stepSeconds * double(mesh.numRanks());
}

double CostModel::memorySeconds(double bytes) const {
  if (bytes <= 0)
    return 0;
  double cores = hardware.isCpu() ? coresPerRank() : 1;
  return bytes / (valueAt(hardware.memory, bytes) * cores);
}

CommandCost CostModel::withLaunch(double unitSeconds,
                                  double memorySeconds) const {
  double start = launchSeconds();
  return {start + std::max(unitSeconds, memorySeconds), start, unitSeconds,
          memorySeconds};
}

CommandCost CostModel::kernelCost(const KernelWork &work, double bytes) const {
  const KernelRates &rates = hardware.kernel;
  // On a CPU the rates are those of one core.
  double cores = hardware.isCpu() ? coresPerRank() : 1;
  double units = work.operations / rates.operations +
                 work.transcendentals / rates.transcendentals +
                 work.elementBytes / rates.cacheBandwidth +
                 work.scatteredElements / rates.scattered +
                 double(work.grid) * rates.itemSeconds;
  return withLaunch((rates.startSeconds + units) / cores,
                    memorySeconds(work.memoryBytes(bytes)));
}

CommandCost CostModel::cost(const PlanCommand &command) const {
  double bytes = double(command.bytesRead() + command.bytesWritten());
  switch (command.kind) {
  case CommandKind::Matmul:
    return matmulCost(command.matmul, command.dtype);
  case CommandKind::Attention:
    return attentionCost(command.attention, command.dtype, bytes);
  case CommandKind::Kernel:
    return kernelCost(command.kernel, bytes);
  case CommandKind::Copy:
    return kernelCost({/*grid=*/0}, bytes);
  case CommandKind::Collective:
    return collectiveCost(command.collective, bytes);
  case CommandKind::EventRecord:
  case CommandKind::EventWait:
    break;
  }
  return {};
}

/// The time of a collective alone includes its use of memory.
CommandCost CostModel::collectiveCost(const CollectiveWork &work,
                                      double bytes) const {
  double seconds = collectiveSeconds(work.kind, double(work.bytes),
                                     llvm::ArrayRef<AxisId>(work.axes)) -
                   launchSeconds();
  return withLaunch(seconds, std::min(seconds, memorySeconds(bytes)));
}
