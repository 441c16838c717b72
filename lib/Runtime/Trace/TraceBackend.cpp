#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/BuiltinBackends.h"

#include <fmt/format.h>

#include <cstring>

namespace tpsp::rt {
namespace {

/// Only prints each call. It has no memory.
class TraceRank final : public BackendRank {
public:
  TraceRank(const RankMesh &mesh, int64_t number, std::string *lines)
      : mesh(mesh), number(number), lines(lines) {}

  Status run(Call &call) override {
    if (lines)
      *lines += fmt::format("rank {} stream {} {}\n", number, call.stream,
                            describe(call, mesh));
    return {};
  }
  Status synchronize() override { return {}; }

  /// Writes are ignored and reads give zeros, so that a driver for real
  /// backends runs to its end.
  Status write(int64_t, const void *, int64_t) override { return {}; }
  Status read(int64_t, void *destination, int64_t bytes) override {
    if (bytes > 0)
      std::memset(destination, 0, bytes);
    return {};
  }
  void *hostAddress(int64_t) override { return nullptr; }

private:
  const RankMesh &mesh;
  const int64_t number;
  /// Null if this rank prints nothing.
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
