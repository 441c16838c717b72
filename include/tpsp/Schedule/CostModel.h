/// How long commands take on a machine, each alone.
///
///   CostModel cost(*findHardware("h100-sxm"), plan.mesh);
///   cost.seconds(plan.commands[0]);          // one command
///   cost.matmulSeconds({8192, 3584, 8192}, TPSP_RT_BF16);
///   cost.collectiveSeconds(CollectiveKind::AllGather, 64 << 20, axes);
///
/// What commands that run at once do to each other is the simulator's
/// (Simulator.h); it takes the parts of a CommandCost from here.
#ifndef TPSP_SCHEDULE_COSTMODEL_H
#define TPSP_SCHEDULE_COSTMODEL_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Schedule/Hardware.h"

#include <algorithm>

namespace tpsp {

/// What a command needs of a rank's machine.
struct CommandCost {
  /// Alone, with its launch.
  double seconds = 0;
  /// The part of these before it uses anything: its launch.
  double startSeconds = 0;
  /// How long its own units alone would be busy with it: cores, or links.
  double unitSeconds = 0;
  /// How long memory alone would be busy with it. Commands whose shares of
  /// memory add up to more than the whole slow each other down.
  double memorySeconds = 0;

  /// Where its units take `slowdown` times as long.
  double slowedSeconds(double slowdown) const {
    return startSeconds + std::max(slowdown * unitSeconds, memorySeconds);
  }
};

/// Where the ranks of a group are.
struct GroupPlace {
  /// Ranks; of them in one node; nodes.
  int64_t group = 1, perNode = 1, nodes = 1;
};

class CostModel {
public:
  /// Copies what it needs. The mesh fits (misfitOf()). `threadsPerRank` is for
  /// CPUs: 0 takes cores / ranks, at least 1, as the runtime does.
  CostModel(const Hardware &hardware, const Mesh &mesh,
            int64_t threadsPerRank = 0);

  /// How long the command takes alone on an idle machine: all ranks do it at
  /// the same time and nothing else. 0 for events.
  double seconds(const PlanCommand &command) const {
    return cost(command).seconds;
  }
  CommandCost cost(const PlanCommand &command) const;

  CommandCost matmulCost(const MatmulWork &work, int64_t dtype) const;
  CommandCost kernelCost(const KernelWork &work, double bytes) const;

  /// One product of this shape and its launch. `dtype`: TPSP_RT_F32, ...
  double matmulSeconds(const MatmulWork &work, int64_t dtype) const {
    return matmulCost(work, dtype).seconds;
  }
  /// A kernel that touches `bytes` of memory, and its launch.
  double kernelSeconds(const KernelWork &work, double bytes) const {
    return kernelCost(work, bytes).seconds;
  }
  /// A copy that reads and writes `bytes` of memory together.
  double copySeconds(double bytes) const {
    return kernelSeconds({/*grid=*/0}, bytes);
  }
  /// A collective of size S = `bytes` (CollectiveWork::bytes) by the fastest
  /// algorithm, and its launch.
  double collectiveSeconds(CollectiveKind kind, double bytes,
                           llvm::ArrayRef<AxisId> axes) const {
    return collectiveSeconds(kind, bytes, placeOf(axes));
  }
  double collectiveSeconds(CollectiveKind kind, double bytes,
                           GroupPlace place) const;

  GroupPlace placeOf(llvm::ArrayRef<AxisId> axes) const;
  /// The tier that a collective of such a group takes its time on:
  /// Hardware::betweenTier if it has ranks of several nodes.
  llvm::StringRef tierOf(GroupPlace place) const {
    return place.nodes > 1 ? hardware.betweenTier : hardware.insideTier;
  }
  /// What a collective over these axes has to itself while it runs, so that
  /// others wait for it: on GPUs the links of its tier, by whose name it is
  /// known; on a CPU its communicator, by its axes' names ("dp, tp").
  std::string linksOf(llvm::ArrayRef<AxisId> axes) const;

  const Hardware &machine() const { return hardware; }
  const Mesh &ranks() const { return mesh; }

  /// Cores that a rank computes with. On a GPU they are all of the device. On a
  /// CPU they are its part of the machine's, which may be less than 1, and at
  /// most its threads.
  double coresPerRank() const;
  int64_t threads() const { return threadsPerRank; }

  /// How many times longer cores take for what they compute while a collective
  /// runs; 1 on a CPU, where ranks' threads share the cores.
  double slowdown() const;
  /// Seconds of the launch of any command on this mesh.
  double launchSeconds() const;
  /// For a stream to go on after it slept.
  double handoffSeconds() const;
  /// Seconds of a step besides its commands.
  double stepSeconds() const;
  /// Seconds that memory needs for `bytes` of one command, alone.
  double memorySeconds(double bytes) const;

private:
  /// Ranks a core, at least 1: where they outnumber the cores each waits for
  /// what the others do at the same time.
  double crowding() const;
  CommandCost collectiveCost(const CollectiveWork &work, double bytes) const;
  CommandCost attentionCost(const AttentionWork &work, int64_t dtype,
                            double bytes) const;
  /// Flop/s of all of a rank's cores, as productRate().
  double attentionRate(const AttentionRates &rates,
                       const AttentionWork &work) const;
  double unmeasuredAttentionSeconds(const AttentionWork &work,
                                    int64_t dtype) const;
  /// Flop/s of all of a rank's cores.
  double productRate(const MatmulWork &work, int64_t dtype) const;
  double epilogueSeconds(const EpilogueWork &work) const;
  CommandCost withLaunch(double unitSeconds, double memorySeconds) const;

  /// Without the launch; 0 if nothing is sent.
  double transferSeconds(CollectiveKind kind, double bytes,
                         GroupPlace place) const;
  double crossingSeconds(const CollectiveRates &rates, double bytes,
                         GroupPlace place) const;
  /// By the fastest algorithm that has rates there; 0 if none has.
  double fastestOnTier(llvm::StringRef tier, CollectiveKind kind, double bytes,
                       GroupPlace place) const;

  Hardware hardware;
  Mesh mesh;
  int64_t threadsPerRank;
};

/// nccl-tests' factor from S/t to bus bandwidth, for a group of `group` ranks.
/// It is 2 (n - 1) / n for an all_reduce, (n - 1) / n where every rank keeps
/// its own part, and 1 for a permute.
double busFactor(CollectiveKind kind, int64_t group);

/// Flop/s of C[m, n] += A[m, k] B[k, n], `batch` of them at once, as the rates
/// have it; see docs/Hardware.md for shapes beside the grid.
double matmulRate(const MatmulRates &rates, const MatmulWork &work);

/// Seconds of a collective in one node by one algorithm.
double seconds(const CollectiveRates &rates, double bytes, int64_t group);

} // namespace tpsp

#endif // TPSP_SCHEDULE_COSTMODEL_H
