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

/// A GPU's memory moves as many bytes at once.
static constexpr double sectorBytes = 32;
/// A block of a GPU has as many short items as load and store so many bytes.
static constexpr double bytesOfBlock = 16 << 10;
/// The most items of a block.
static constexpr double itemsOfBlock = 256;

double tpsp::kernelUnitSeconds(const Hardware &hardware,
                               const KernelWork &work) {
  const KernelRates &rates = hardware.kernel;
  double strided = hardware.isCpu() ? 1 / rates.scattered
                                    : sectorBytes / rates.cacheBandwidth;
  return work.operations / rates.operations +
         work.transcendentals / rates.transcendentals +
         work.elementBytes / rates.cacheBandwidth +
         work.stridedElements * strided +
         work.scatteredElements / rates.scattered;
}

/// The number of blocks in which a GPU runs a kernel, about.
static double blocksOf(const KernelWork &work) {
  double items = double(std::max<int64_t>(work.grid, 1));
  return std::clamp(work.elementBytes / bytesOfBlock, items / itemsOfBlock,
                    items);
}

/// The cost if the units take at least so many seconds.
static CommandCost withUnits(CommandCost cost, double seconds) {
  cost.unitSeconds = std::max(cost.unitSeconds, seconds);
  cost.seconds = std::max(cost.seconds, cost.startSeconds + seconds);
  return cost;
}

CommandCost CostModel::kernelCost(const KernelWork &work, double bytes) const {
  const KernelRates &rates = hardware.kernel;
  double units = rates.startSeconds + kernelUnitSeconds(hardware, work);
  double moved = work.memoryBytes(bytes);
  if (hardware.isCpu()) {
    units += double(work.grid) * rates.itemSeconds;
    // The rates are those of one core.
    return withLaunch(units / coresPerRank(), memorySeconds(moved));
  }
  return withLaunch(units + blocksOf(work) * rates.itemSeconds,
                    memorySeconds(moved));
}

/// Seconds in which a GPU's blocks read what a sum reads. The blocks are no
/// more than the sums, such as the elements of a bias's gradient. The blocks of
/// other kernels divide long items.
double CostModel::sumSeconds(const PlanCommand &command) const {
  // Lookups read a few rows of a table.
  double read = command.kernel.memoryBytes(double(command.bytesRead()));
  double grid = double(command.kernel.grid);
  bool sums = read > 8 * double(command.bytesWritten());
  double rate = hardware.kernel.blockBandwidth * grid;
  return sums && rate > 0 ? read / rate : 0;
}

CommandCost CostModel::cost(const PlanCommand &command) const {
  double bytes = double(command.bytesRead() + command.bytesWritten());
  switch (command.kind) {
  case CommandKind::Matmul:
    return matmulCost(command.matmul, command.dtype);
  case CommandKind::Attention:
    return attentionCost(command.attention, command.dtype, bytes);
  case CommandKind::Kernel:
    return withUnits(kernelCost(command.kernel, bytes), sumSeconds(command));
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
