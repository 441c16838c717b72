#include "tpsp/Planner/CostModel.h"
#include "tpsp/Planner/SizeTable.h"

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

double CostModel::memorySeconds(double bytes) const {
  if (bytes <= 0)
    return 0;
  double cores = hardware.isCpu() ? coresPerRank() : 1;
  return bytes / (valueAt(hardware.memory, bytes) * cores);
}

double CostModel::kernelSeconds(const KernelWork &work, double bytes) const {
  const KernelRates &rates = hardware.kernel;
  // On a CPU the rates are one core's.
  double cores = hardware.isCpu() ? coresPerRank() : 1;
  double computing = work.operations / rates.operations +
                     work.transcendentals / rates.transcendentals +
                     double(work.grid) * rates.itemSeconds;
  double caches = work.elementBytes / rates.cacheBandwidth;
  return hardware.launchSeconds +
         std::max({computing / cores, caches / cores, memorySeconds(bytes)});
}

CommandCost CostModel::cost(const StepCommand &command) const {
  CommandCost cost;
  if (command.isEvent())
    return cost;
  double bytes = double(command.bytesRead() + command.bytesWritten());
  cost.startSeconds = hardware.launchSeconds;
  cost.memorySeconds = memorySeconds(bytes);
  switch (command.kind) {
  case StepKind::Matmul:
    cost.seconds = matmulSeconds(command.matmul, command.elementBytes);
    break;
  case StepKind::Kernel:
    cost.seconds = kernelSeconds(command.kernel, bytes);
    break;
  case StepKind::Copy:
    cost.seconds = copySeconds(bytes);
    break;
  case StepKind::Collective:
    cost.seconds = collectiveSeconds(
        command.collective.kind, double(command.collective.bytes),
        llvm::ArrayRef<AxisId>(command.collective.axes));
    break;
  case StepKind::EventRecord:
  case StepKind::EventWait:
    break;
  }
  cost.memorySeconds =
      std::min(cost.memorySeconds, cost.seconds - cost.startSeconds);
  return cost;
}
