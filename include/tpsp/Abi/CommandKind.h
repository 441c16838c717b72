/// The kinds of commands and of collectives.
#ifndef TPSP_ABI_COMMANDKIND_H
#define TPSP_ABI_COMMANDKIND_H

namespace tpsp {

enum class CommandKind {
  Matmul,
  Attention,
  Kernel,
  Copy,
  Collective,
  EventRecord,
  EventWait
};

/// What they mean is in Algebra/Collective.h.
enum class CollectiveKind {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Slice,
  Permute
};

/// "all_reduce", ...: the mnemonic of the operation and of the command.
constexpr const char *nameOf(CollectiveKind kind) {
  constexpr const char *names[] = {"all_reduce", "reduce_scatter", "all_gather",
                                   "all_to_all", "slice",          "permute"};
  return names[int(kind)];
}

} // namespace tpsp

#endif // TPSP_ABI_COMMANDKIND_H
