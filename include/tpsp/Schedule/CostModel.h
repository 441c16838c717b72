/// The time of commands on a machine, each alone.
///
///   CostModel cost(*findHardware("h100-sxm"), plan.mesh);
///   cost.seconds(plan.commands[0]);          // one command
///   cost.matmulSeconds({8192, 3584, 8192}, TPSP_RT_BF16);
///   cost.collectiveSeconds(CollectiveKind::AllGather, 64 << 20, axes);
///
/// The simulator models how concurrent commands slow each other down
/// (Simulator.h). It uses the parts of a CommandCost.
#ifndef TPSP_SCHEDULE_COSTMODEL_H
#define TPSP_SCHEDULE_COSTMODEL_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Schedule/Hardware.h"

#include <algorithm>

namespace tpsp {

/// A command's needs of a rank's machine.
struct CommandCost {
  /// Seconds alone, with its launch.
  double seconds = 0;
  /// The part of `seconds` before it uses anything: its launch.
  double startSeconds = 0;
  /// Seconds for which its own units, cores or links, are busy with it.
  double unitSeconds = 0;
  /// Seconds for which memory is busy with it. Commands whose shares of memory
  /// add up to more than the whole slow each other down.
  double memorySeconds = 0;

  /// Seconds if its units take `slowdown` times as long.
  double slowedSeconds(double slowdown) const {
    return startSeconds + std::max(slowdown * unitSeconds, memorySeconds);
  }
};

/// The place of a group's ranks.
struct GroupPlace {
  /// The number of ranks, of its ranks in one node, and of nodes.
  int64_t group = 1, perNode = 1, nodes = 1;
};

/// Seconds of a kernel's arithmetic and accesses to caches, by a machine's best
/// rates. On a CPU these are the rates of one core.
double kernelUnitSeconds(const Hardware &hardware, const KernelWork &work);

class CostModel {
public:
  /// Copies its arguments. The mesh must fit the machine (misfitOf()).
  /// `threadsPerRank` is for CPUs: 0 takes cores / ranks, at least 1, as the
  /// runtime does.
  CostModel(const Hardware &hardware, const Mesh &mesh,
            int64_t threadsPerRank = 0);

  /// Seconds of the command alone on an idle machine: all ranks run it at the
  /// same time, and nothing else. 0 for events.
  double seconds(const PlanCommand &command) const {
    return cost(command).seconds;
  }
  CommandCost cost(const PlanCommand &command) const;

  CommandCost matmulCost(const MatmulWork &work, int64_t dtype) const;
  CommandCost kernelCost(const KernelWork &work, double bytes) const;
  /// Attention as the machine does it. If scores have a soft-cap, segments or
  /// lengths, a GPU's library computes all scores of a window.
  AttentionWork attentionDone(const AttentionWork &work) const;

  /// Seconds of one product of this shape, and its launch. `dtype`:
  /// TPSP_RT_F32, ...
  double matmulSeconds(const MatmulWork &work, int64_t dtype) const {
    return matmulCost(work, dtype).seconds;
  }
  /// Whether a product that is added to its result C (additionWork()) takes
  /// less time than the product without its epilogue and a kernel that adds.
  /// The kernel's launch does not count, because a kernel adds several tensors.
  /// `summedBytes`: of operands that the product would sum over rows instead,
  /// in its epilogue. Then another kernel sums them.
  bool addsFaster(const MatmulWork &product, int64_t dtype,
                  double summedBytes) const;
  /// Seconds of a kernel that touches `bytes` of memory, and its launch.
  double kernelSeconds(const KernelWork &work, double bytes) const {
    return kernelCost(work, bytes).seconds;
  }
  /// Seconds of a copy that reads and writes `bytes` of memory together.
  double copySeconds(double bytes) const {
    return kernelSeconds({/*grid=*/0}, bytes);
  }
  /// Seconds of a collective of size S = `bytes` (CollectiveWork::bytes) with
  /// the fastest algorithm, and its launch.
  double collectiveSeconds(CollectiveKind kind, double bytes,
                           llvm::ArrayRef<AxisId> axes) const {
    return collectiveSeconds(kind, bytes, placeOf(axes));
  }
  double collectiveSeconds(CollectiveKind kind, double bytes,
                           GroupPlace place) const;

  GroupPlace placeOf(llvm::ArrayRef<AxisId> axes) const;
  /// The tier that determines the time of a collective of such a group:
  /// Hardware::betweenTier if the group has ranks of several nodes.
  llvm::StringRef tierOf(GroupPlace place) const {
    return place.nodes > 1 ? hardware.betweenTier : hardware.insideTier;
  }
  /// The name of the resource that a collective over these axes occupies while
  /// it runs, so that others wait for it. On GPUs it is the tier of links; on a
  /// CPU it is the communicator, named by its axes ("dp, tp").
  std::string linksOf(llvm::ArrayRef<AxisId> axes) const;

  const Hardware &machine() const { return hardware; }
  const Mesh &ranks() const { return mesh; }

  /// Cores with which a rank computes. On a GPU they are all cores of the
  /// device. On a CPU they are its share of the machine's cores, which may be
  /// less than 1, and at most its threads.
  double coresPerRank() const;
  int64_t threads() const { return threadsPerRank; }

  /// The factor by which computing takes longer while a collective runs; 1 on a
  /// CPU, where ranks' threads share the cores.
  double slowdown() const;
  /// Seconds of the launch of any command on this mesh.
  double launchSeconds() const;
  /// Seconds until a sleeping stream continues.
  double handoffSeconds() const;
  /// Seconds of a step besides its commands.
  double stepSeconds() const;
  /// Seconds that memory needs for `bytes` of one command, alone.
  double memorySeconds(double bytes) const;

private:
  /// Ranks per core, at least 1. If ranks outnumber the cores, each waits for
  /// the others' commands.
  double crowding() const;
  CommandCost collectiveCost(const CollectiveWork &work, double bytes) const;
  double sumSeconds(const PlanCommand &command) const;
  CommandCost attentionCost(const AttentionWork &work, int64_t dtype,
                            double bytes) const;
  /// FLOP/s of all of a rank's cores in attention.
  double attentionRate(const AttentionRates &rates,
                       const AttentionWork &work) const;
  double unmeasuredAttentionSeconds(const AttentionWork &work,
                                    int64_t dtype) const;
  /// FLOP/s of all of a rank's cores in a product.
  double productRate(const MatmulWork &work, int64_t dtype) const;
  double epilogueSeconds(const EpilogueWork &work) const;
  CommandCost withLaunch(double unitSeconds, double memorySeconds) const;

  /// Seconds of a collective without the launch; 0 if nothing is sent.
  double transferSeconds(CollectiveKind kind, double bytes,
                         GroupPlace place) const;
  double crossingSeconds(const CollectiveRates &rates, double bytes,
                         GroupPlace place) const;
  /// The same from the rates' tables of places, which must not be empty.
  double secondsByPlaces(const CollectiveRates &rates, double bytes,
                         GroupPlace place) const;
  /// The part of a collective between nodes that stays inside of them, in
  /// seconds.
  double localSeconds(CollectiveKind kind, double bytes,
                      GroupPlace place) const;
  /// Adapters for each rank, if all ranks of the nodes communicate, or if only
  /// one group with `perNode` ranks in a node does.
  double adapterShare() const;
  double adapterShareAlone(CollectiveKind kind, int64_t perNode) const;
  /// Seconds with the fastest algorithm that has rates on the tier; 0 if none
  /// has.
  double fastestOnTier(llvm::StringRef tier, CollectiveKind kind, double bytes,
                       GroupPlace place) const;

  Hardware hardware;
  Mesh mesh;
  int64_t threadsPerRank;
};

/// nccl-tests' factor from S/t to bus bandwidth, for a group of `group` ranks.
/// It is 2 (n - 1) / n for an all_reduce, and 1 for a permute. For the others,
/// in which every rank keeps its own part, it is (n - 1) / n.
double busFactor(CollectiveKind kind, int64_t group);

/// The additional work of a product that is added to its result C. The product
/// alone would write C once, in elements of `elementBytes`. Added, it reads and
/// writes C in the type that products are summed in: 4 bytes, or 8 for f64.
EpilogueWork additionWork(const MatmulWork &product, int64_t elementBytes);

/// FLOP/s of C[m, n] += A[m, k] B[k, n], `batch` of them at once, from the
/// rates. docs/Hardware.md describes shapes outside the grid.
double matmulRate(const MatmulRates &rates, const MatmulWork &work);

/// Seconds of a collective in one node with one algorithm.
double seconds(const CollectiveRates &rates, double bytes, int64_t group);

} // namespace tpsp

#endif // TPSP_SCHEDULE_COSTMODEL_H
