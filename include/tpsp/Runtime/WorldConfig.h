/// The settings with which a World is created.
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

/// The limit exists because each stream may need a thread on every rank.
constexpr int64_t maxStreams = 64;

/// Whether a step is captured into a CUDA graph and replayed.
enum class GraphUse {
  Off,
  On,
  /// On, unless threads of this process drive several GPUs over NCCL. By NCCL's
  /// guide, graph launches may then wait for each other for ever.
  Auto
};

/// Settings that only the CUDA backend reads (docs/Cuda.md).
struct CudaSettings {
  GraphUse graphs = GraphUse::Auto;
  /// Called on the rank's thread after every replayed step, with the seconds
  /// that the GPU ran it. May be null.
  std::function<void(int64_t rank, double seconds)> replayed;
  /// Whether collectives of a single rank use NCCL, too.
  bool ncclAlways = false;
};

struct WorldConfig {
  /// A registered backend: "cpu", "trace", "cuda".
  std::string backend = "cpu";
  /// The axes of the mesh; empty: one rank.
  std::vector<MeshAxis> mesh;
  /// Bytes of every rank's arena.
  int64_t arenaBytes = 0;
  /// The largest consumers of an arena, for the message if it does not fit:
  /// "scores 4.0 GiB (gpt.mlir:12:8), w1 1.0 GiB (gpt.mlir:3:5)". May be empty.
  std::string arenaConsumers;
  /// Streams that the plan uses: 0 .. numStreams - 1, at most maxStreams.
  int64_t numStreams = 1;
  /// Events that the plan uses: 0 .. numEvents - 1.
  int64_t numEvents = 0;
  /// Compute threads of a rank; 0: cores / ranks, at least 1.
  int threadsPerRank = 0;
  /// How long a rank waits for the others in a collective, in seconds.
  double timeoutSeconds = 30;

  /// Connects the processes of a world that has one rank in each. Null if all
  /// ranks are threads of this process. Not owned.
  Transport *transport = nullptr;
  /// A hash of the plan, by which processes notice that they run different
  /// plans.
  uint64_t planHash = 0;

  /// For the trace backend: where its lines are written (null: stdout; not
  /// owned), and whether all ranks write lines.
  std::FILE *traceOutput = nullptr;
  bool traceAllRanks = false;

  CudaSettings cuda;

  /// Receives sentences about settings that could not be followed as asked;
  /// null: stderr. Called from any rank's thread.
  std::function<void(const std::string &)> warn;

  /// Receives every command that has run; null: none. Not owned.
  CommandObserver *observer = nullptr;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_WORLDCONFIG_H
