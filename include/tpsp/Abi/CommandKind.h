/// The kinds of commands and of collectives.
#ifndef TPSP_ABI_COMMANDKIND_H
#define TPSP_ABI_COMMANDKIND_H

#include "tpsp/Abi/EnumNames.h"

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

template <> struct EnumNames<CommandKind> {
  static constexpr const char *all[] = {
      "matmul",     "attention",    "kernel",    "copy",
      "collective", "event_record", "event_wait"};
};

/// Algebra/Collective.h defines what each collective does.
enum class CollectiveKind {
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Slice,
  Permute,
  Transfer
};

/// The mnemonic of the operation and of the command.
template <> struct EnumNames<CollectiveKind> {
  static constexpr const char *all[] = {
      "all_reduce", "reduce_scatter", "all_gather", "all_to_all",
      "slice",      "permute",        "transfer"};
};

} // namespace tpsp

#endif // TPSP_ABI_COMMANDKIND_H
