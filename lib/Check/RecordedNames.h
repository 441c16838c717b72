/// Names of calls, groups and files, as recordings of all kinds have them.
#ifndef TPSP_LIB_CHECK_RECORDEDNAMES_H
#define TPSP_LIB_CHECK_RECORDEDNAMES_H

#include "tpsp/Check/Traces.h"

namespace tpsp::check {

/// The meaning of a recorded name.
struct CallName {
  /// The name contains this word; names differ in underscores and prefixes
  /// alone. The first row whose word fits decides.
  const char *word;
  /// None: no row of a ledger, though it may move or add up data.
  std::optional<CollectiveKind> kind;
};

/// "nccl:_all_gather_base" as "ncclallgatherbase".
std::string lettersOf(const std::string &name);

/// The meaning of a name's letters. Null if a call is no collective of a step:
/// a barrier, a broadcast.
const CallName *meaningOf(const std::string &letters);

/// The last number in a file's name: "run_rank_3.json" is of rank 3.
std::optional<int64_t> rankInName(const std::string &path);

/// Sets the ranks of a call's group by their order in it. The call's peer is
/// numbered in that order.
void setGroup(std::vector<int64_t> order, RecordedCall &call);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_RECORDEDNAMES_H
