#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

namespace tpsp::rt {
namespace {

/// Writes the fields of a command; the call's name and quotes are around them.
class CommandPrinter {
public:
  CommandPrinter(const Call &call, const RankMesh &mesh, std::string &text)
      : call(call), mesh(mesh), text(text) {}

  void operator()(const MatmulCommand &c) {
    print(" m={} n={} k={}", c.m, c.n, c.k);
    if (c.transposeA)
      print(" transposeA");
    if (c.transposeB)
      print(" transposeB");
    printLoops("batch", c.batch);
    printLoops("accumulate", c.accumulate);
    print(" {}", elementName(c.dtype));
    printBuffers({"A", "B", "C"});
    size_t next = 3;
    for (EpilogueStep step : c.epilogue) {
      print(" {}", nameOf(step));
      if (hasBuffer(step))
        print("@{}", call.buffers[next++]);
    }
  }

  void operator()(const KernelCommand &c) {
    print(" grid={}", c.grid);
    if (!call.positions.empty())
      print(" positions={}", fmt::join(call.positions, ","));
    for (int64_t offset : call.buffers)
      print(" @{}", offset);
  }

  void operator()(const AttentionCommand &c) {
    print(" b={} h={} g={} s={} t={} d={} e={}", c.batch, c.heads, c.groups,
          c.queries, c.keys, c.features, c.valueFeatures);
    print(" scale={:g}{} {}", c.scale, c.causal ? " causal" : "",
          elementName(c.dtype));
    printBuffers({"q", "k", "v", "o"});
    if (c.keepsStatistic)
      print(" statistic@{}", call.buffers[4]);
    if (call.kind == CallKind::attention_gradient)
      print(" go@{} gq@{} gk@{} gv@{}", call.buffers[5], call.buffers[6],
            call.buffers[7], call.buffers[8]);
  }

  void operator()(const ShardCommand &c) {
    printAxes(c.axes);
    if (call.kind == CallKind::reduce_scatter)
      printReduction(c.reduction);
    print(" outer={} chunk={}", c.outer, c.chunk);
    if (c.pitch)
      print(" pitch={}", c.pitch);
    print(" {}", elementName(c.dtype));
    printBuffers({"src", "dst"});
  }

  void operator()(const AllReduceCommand &c) {
    printAxes(c.axes);
    printReduction(c.reduction);
    print(" counts={} {}", fmt::join(c.counts, ","), elementName(c.dtype));
    for (size_t i = 0; i + 1 < call.buffers.size(); i += 2)
      print(" src@{} dst@{}", call.buffers[i], call.buffers[i + 1]);
  }

  void operator()(const AllToAllCommand &c) {
    printAxes(c.axes);
    print(" {} a={} gather={} b={} scatter={} c={} {}",
          c.gatherFirst ? "gather-first" : "scatter-first", c.a, c.gather, c.b,
          c.scatter, c.c, elementName(c.dtype));
    printBuffers({"src", "dst"});
  }

  void operator()(const PermuteCommand &c) {
    printAxes(c.axes);
    print(" source={} count={}", fmt::join(c.source, ","), c.count);
    if (c.runs > 1)
      print(" runs={} pitch={}->{}", c.runs, c.sourcePitch, c.targetPitch);
    print(" {}", elementName(c.dtype));
    printBuffers({"src", "dst"});
  }

  void operator()(const EventCommand &c) { print(" event={}", c.event); }

private:
  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args &&...args) {
    fmt::format_to(std::back_inserter(text), format,
                   std::forward<Args>(args)...);
  }

  void printLoops(const char *what, const std::vector<MatmulLoop> &loops) {
    for (size_t i = 0; i < loops.size(); ++i)
      print("{}{}", i == 0 ? fmt::format(" {}=", what) : "x", loops[i].extent);
  }

  void printAxes(const std::vector<int64_t> &axes) {
    print(" axes=");
    for (size_t i = 0; i < axes.size(); ++i)
      print("{}{}", i == 0 ? "" : ",", mesh.axes()[axes[i]].name);
  }

  void printReduction(int64_t reduction) {
    print(" {}", reduction == TPSP_RT_MAX ? "max" : "sum");
  }

  void printBuffers(std::initializer_list<const char *> roles) {
    size_t i = 0;
    for (const char *role : roles)
      print(" {}@{}", role, call.buffers[i++]);
  }

  const Call &call;
  const RankMesh &mesh;
  std::string &text;
};

} // namespace

const char *callName(CallKind kind) {
  constexpr const char *names[] = {
#define TPSP_RT_CALL(NAME) #NAME,
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL
  };
  return names[static_cast<int>(kind)];
}

std::string describe(const Call &call, const RankMesh &mesh) {
  std::string text = callName(call.kind);
  std::visit(CommandPrinter(call, mesh, text), call.command);
  return fmt::format("{} \"{}\"", text, call.name);
}

Status inCall(const Call &call, const Status &failure) {
  return {failure.code(), fmt::format("{}: {}", call.name, failure.message())};
}

} // namespace tpsp::rt
