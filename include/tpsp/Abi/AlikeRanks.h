/// Ranks of a trace that did the same. Pictures draw them once.
#ifndef TPSP_ABI_ALIKERANKS_H
#define TPSP_ABI_ALIKERANKS_H

#include "tpsp/Abi/StepTrace.h"

namespace tpsp {

/// Ranks that ran the same commands at the same times, with the same memory in
/// use.
struct AlikeRanks {
  /// "rank 3: dp=1 tp=1" or, if there are several, "ranks 0 to 7".
  std::string name;
  /// Positions in the trace, ascending.
  std::vector<size_t> ranks;
  /// The number of ranks, with those after the trace's ranks.
  int64_t size = 0;
};

/// The groups of ranks that are alike, in the order of their first ranks. Takes
/// time linear in the spans, unless very many ranks differ in few spans.
std::vector<AlikeRanks> alikeRanks(const StepTrace &trace);

/// "rank 3", "ranks 0 to 7", "ranks 0, 2, 4 to 6", "ranks 0, 4, 8 and 13 more".
/// `ranks` are ascending.
std::string ranksText(const std::vector<int64_t> &ranks);

} // namespace tpsp

#endif // TPSP_ABI_ALIKERANKS_H
