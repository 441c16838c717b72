#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/BuiltinBackends.h"

#include <fmt/format.h>

#include <cstring>

namespace tpsp::rt {
namespace {

/// Prints each call and does nothing else; has no memory either.
class TraceRank final : public BackendRank {
public:
  TraceRank(const RankMesh &mesh, int64_t number, std::string *lines)
      : mesh(mesh), number(number), lines(lines) {}

  Status matmul(Call &call, const MatmulCommand &) override {
    return print(call);
  }
  Status kernel(Call &call, const KernelCommand &) override {
    return print(call);
  }
  Status attention(Call &call, const AttentionCommand &) override {
    return print(call);
  }
  Status attentionGradient(Call &call, const AttentionCommand &) override {
    return print(call);
  }
  Status slice(Call &call, const ShardCommand &) override {
    return print(call);
  }
  Status allReduce(Call &call, const AllReduceCommand &) override {
    return print(call);
  }
  Status allGather(Call &call, const ShardCommand &) override {
    return print(call);
  }
  Status reduceScatter(Call &call, const ShardCommand &) override {
    return print(call);
  }
  Status allToAll(Call &call, const AllToAllCommand &) override {
    return print(call);
  }
  Status permute(Call &call, const PermuteCommand &) override {
    return print(call);
  }
  Status eventRecord(Call &call, const EventCommand &) override {
    return print(call);
  }
  Status eventWait(Call &call, const EventCommand &) override {
    return print(call);
  }
  Status synchronize() override { return {}; }

  /// Writes are forgotten and reads give zeros, so that a driver made for real
  /// backends runs through.
  Status write(int64_t, const void *, int64_t) override { return {}; }
  Status read(int64_t, void *destination, int64_t bytes) override {
    if (bytes > 0)
      std::memset(destination, 0, bytes);
    return {};
  }
  void *hostAddress(int64_t) override { return nullptr; }

private:
  Status print(const Call &call) {
    if (lines)
      *lines += fmt::format("rank {} stream {} {}\n", number, call.stream,
                            describe(call, mesh));
    return {};
  }

  const RankMesh &mesh;
  const int64_t number;
  /// Null: this rank is silent.
  std::string *lines;
};

/// Collects each rank's lines and prints them rank by rank after a run, so that
/// the output does not depend on the threads' timing.
class TraceBackend final : public Backend {
public:
  explicit TraceBackend(const BackendContext &world)
      : world(world), lines(world.mesh.numRanks()) {}

  Status createRank(int64_t rank, std::unique_ptr<BackendRank> &out) override {
    bool prints = rank == 0 || world.config.traceAllRanks;
    out = std::make_unique<TraceRank>(world.mesh, rank,
                                      prints ? &lines[rank] : nullptr);
    return {};
  }

  void abort() override {}

  void runFinished() override {
    std::FILE *output =
        world.config.traceOutput ? world.config.traceOutput : stdout;
    for (std::string &text : lines) {
      std::fwrite(text.data(), 1, text.size(), output);
      text.clear();
    }
    std::fflush(output);
  }

private:
  const BackendContext &world;
  std::vector<std::string> lines;
};

} // namespace

void registerTraceBackend() {
  registerBackend(
      "trace",
      [](const BackendContext &world, std::unique_ptr<Backend> &out) -> Status {
        out = std::make_unique<TraceBackend>(world);
        return {};
      });
}

} // namespace tpsp::rt
