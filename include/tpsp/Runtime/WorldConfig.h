/// What a World is made from.
#ifndef TPSP_RUNTIME_WORLDCONFIG_H
#define TPSP_RUNTIME_WORLDCONFIG_H

#include "tpsp/Abi/RankMesh.h"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace tpsp::rt {

class CommandObserver;
class Transport;

/// Each may cost every rank a thread.
constexpr int64_t maxStreams = 64;

/// Whether a step is captured into a CUDA graph and replayed.
enum class GraphUse {
  Off,
  On,
  /// Unless threads of this process drive several GPUs over NCCL: by its guide,
  /// launches of graphs may then wait for each other for ever.
  Auto
};

/// What only the CUDA backend asks (docs/Cuda.md).
struct CudaSettings {
  GraphUse graphs = GraphUse::Auto;
  /// Told, behind every step that was replayed, for how many seconds the GPU
  /// ran it; by the rank's thread. May be null.
  std::function<void(int64_t rank, double seconds)> replayed;
  /// Collectives of one rank go through NCCL, too.
  bool ncclAlways = false;
};

struct WorldConfig {
  /// A registered backend: "cpu", "trace", "cuda".
  std::string backend = "cpu";
  /// Empty: one rank.
  std::vector<MeshAxis> mesh;
  /// Bytes of every rank's arena.
  int64_t arenaBytes = 0;
  /// What takes most of an arena, for the refusal of one that does not fit:
  /// "scores 4.0 GiB (gpt.mlir:12:8), w1 1.0 GiB (gpt.mlir:3:5)". May be empty.
  std::string arenaConsumers;
  /// Streams that the plan uses: 0 .. numStreams - 1, at most maxStreams.
  int64_t numStreams = 1;
  /// Events that the plan uses: 0 .. numEvents - 1.
  int64_t numEvents = 0;
  /// Compute threads of a rank; 0: cores / ranks, at least 1.
  int threadsPerRank = 0;
  /// How long a rank waits for the others of a collective.
  double timeoutSeconds = 30;

  /// The other processes of a world that has one rank in each; null: all ranks
  /// are threads of this process. Not owned.
  Transport *transport = nullptr;
  /// Something that differs from plan to plan, by which processes notice that
  /// they do not run the same one.
  uint64_t planHash = 0;

  /// trace: where lines go (null: stdout; not owned) and whose they are.
  std::FILE *traceOutput = nullptr;
  bool traceAllRanks = false;

  CudaSettings cuda;

  /// Takes sentences about what works, but not as asked; null: stderr. From any
  /// rank's thread.
  std::function<void(const std::string &)> warn;

  /// Told of every command that has run; null: nobody. Not owned.
  CommandObserver *observer = nullptr;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_WORLDCONFIG_H
