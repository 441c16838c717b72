#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <type_traits>

namespace tpsp::rt {
namespace {

/// Writes the fields of a command. The caller writes the call's name before
/// them and the quoted name after them.
class CommandPrinter {
public:
  CommandPrinter(const Call &call, const RankMesh &mesh, std::string &text)
      : call(call), mesh(mesh), text(text) {}

  template <typename Command> void operator()(const Command &command) {
    if constexpr (isCollective<Command> ||
                  std::is_base_of_v<ShardCommand, Command>)
      printAxes(command.axes);
    if constexpr (std::is_same_v<Command, ReduceScatterCommand>)
      printReduction(command.reduction);
    printFields(command);
    printBuffers(command.buffers(call.group.size()));
    if constexpr (std::is_same_v<Command, MatmulCommand>)
      if (hasGelu(command))
        print(" gelu");
  }

  void operator()(const KernelCommand &c) {
    print(" grid={}", c.grid);
    if (!call.positions.empty())
      print(" positions={}", fmt::join(call.positions, ","));
    for (int64_t offset : call.buffers)
      print(" @{}", offset);
  }

private:
  void printFields(const MatmulCommand &c) {
    print(" m={} n={} k={}{}{}", c.m, c.n, c.k,
          c.transposeA ? " transposeA" : "", c.transposeB ? " transposeB" : "");
    printLoops("batch", c.batch);
    printLoops("accumulate", c.accumulate);
    print(" {}", elementName(c.dtype));
  }

  void printFields(const GroupedMatmulCommand &c) {
    print(" m={} n={} k={}{}{}", c.m, c.n, c.k,
          c.transposeA ? " transposeA" : "", c.transposeB ? " transposeB" : "");
    printLoops("batch", c.batch);
    printLoops("accumulate", c.accumulate);
    print(" groups={}{}", c.groups, c.sumsRows ? " sums-rows" : "");
    if (!c.firstGroup.isZero())
      print(" first={}", call.positions.at(0));
    print(" {}", elementName(c.dtype));
  }

  void printFields(const AttentionCommand &c) {
    print(" b={} h={} g={} s={} t={} d={} e={}", c.batch, c.heads, c.groups,
          c.queries, c.keys, c.features, c.valueFeatures);
    print(" scale={:g}{}", c.scale, c.causal ? " causal" : "");
    if (!c.queryStart.isZero())
      print(" start={}{}", call.positions.at(0),
            c.hasLastKeys ? " last-keys" : "");
    printFurther(c);
    print("{}{}{} {}", c.hasBias ? " bias" : "",
          c.hasSegments ? " segments" : "", c.hasLengths ? " lengths" : "",
          elementName(c.dtype));
  }

  /// The options of scores that are set, besides scale and causal mask.
  void printFurther(ScoreOptions options) {
    options.scale = 0;
    options.causal = false;
    ScoreOptions::visitAll(options, [&](const char *name, auto option) {
      if (option == 0)
        return;
      if constexpr (std::is_same_v<decltype(option), bool>)
        print(" {}", name);
      else if constexpr (std::is_same_v<decltype(option), double>)
        print(" {}={:g}", name, option);
      else
        print(" {}={}", name, option);
    });
  }

  void printFields(const ShardCommand &c) {
    for (size_t i = 0; i < c.numTensors(); ++i) {
      const ShardLayout &t = c.tensor(i);
      print(" outer={} chunk={}", t.outer, t.chunk);
      if (t.pitch)
        print(" pitch={}", t.pitch);
    }
    print(" {}", elementName(c.dtype));
  }

  void printFields(const AllReduceCommand &c) {
    printReduction(c.reduction);
    print(" counts={} {}", fmt::join(c.counts, ","), elementName(c.dtype));
  }

  void printFields(const AllToAllCommand &c) {
    print(" {} a={} gather={} b={} scatter={} c={} {}",
          c.gatherFirst ? "gather-first" : "scatter-first", c.a, c.gather, c.b,
          c.scatter, c.c, elementName(c.dtype));
  }

  void printFields(const PermuteCommand &c) {
    print(" source={} count={}", fmt::join(c.source, ","), c.count);
    if (c.runs > 1)
      print(" runs={} pitch={}->{}", c.runs, c.sourcePitch, c.targetPitch);
    print(" {}", elementName(c.dtype));
  }

  void printFields(const TransferCommand &c) {
    print(" from={} to={} count={} {}", c.from, c.to, c.count,
          elementName(c.dtype));
  }

  void printFields(const EventCommand &c) { print(" event={}", c.event); }

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

  void printBuffers(const std::vector<BufferUse> &uses) {
    for (size_t i = 0; i < uses.size(); ++i)
      print(" {}@{}", uses[i].role, call.buffers[i]);
  }

  /// GELU is the only epilogue step without a buffer, and it comes last.
  static bool hasGelu(const MatmulCommand &c) {
    return !c.epilogue.empty() && c.epilogue.back() == EpilogueStep::Gelu;
  }

  const Call &call;
  const RankMesh &mesh;
  std::string &text;
};

} // namespace

std::string describe(const Call &call, const RankMesh &mesh) {
  std::string text = callName(call.kind);
  std::visit(CommandPrinter(call, mesh, text), call.command);
  return fmt::format("{} \"{}\"", text, call.name);
}

Status inCall(const Call &call, const Status &failure) {
  return {failure.code(), fmt::format("{}: {}", call.name, failure.message())};
}

} // namespace tpsp::rt
