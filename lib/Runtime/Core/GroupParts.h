/// How the ranks of a group share the work of a reduction.
#ifndef TPSP_RUNTIME_CORE_GROUPPARTS_H
#define TPSP_RUNTIME_CORE_GROUPPARTS_H

#include <algorithm>
#include <cstdint>

namespace tpsp::rt {

/// The elements that one rank of a group reduces for all. In whole cache lines,
/// so that no two ranks write to one.
struct Part {
  int64_t begin, end;

  Part(int64_t count, int64_t ranks, int64_t number) {
    constexpr int64_t line = 64;
    int64_t share = (count + ranks - 1) / ranks;
    share = (share + line - 1) / line * line;
    begin = std::min(count, number * share);
    end = std::min(count, begin + share);
  }

  int64_t size() const { return end - begin; }
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_GROUPPARTS_H
