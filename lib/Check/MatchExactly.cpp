#include "Hypotheses.h"
#include "Matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

using namespace tpsp;
using namespace tpsp::check;

namespace {

/// Matches that need nothing but axes, kinds and sizes.
class ExactMatch {
public:
  explicit ExactMatch(Matching &matching)
      : all(matching), needs(matching.needs), calls(matching.calls) {}

  void run() {
    inOrder();
    equal();
    halves();
    splits();
    buckets();
    dear();
  }

private:
  static bool isOpen(const Made &made) {
    return !made.isMatched && made.axes && !made.call->isExtremum;
  }
  /// Whether a call is in a phase in which the row may be. A call outside of
  /// the backward pass may add up gradients after it.
  static bool isInPhase(const Need &need, const Made &made) {
    return made.call->phase != Phase::Backward ||
           need.row->phase != Phase::Forward;
  }

  /// How well a call performs a row: 0 if it does not.
  static int scoreOf(const Need &need, const Made &made) {
    // A maximum adds up no gradient.
    if (made.call->isExtremum && !need.row->gradients.empty())
      return 0;
    if (made.call->elements != need.elements || !made.isOver(need.axes))
      return 0;
    int phase = isInPhase(need, made) ? 1 : 0;
    if (made.call->kind == need.kind)
      return 4 + phase;
    bool isDear = need.kind == CollectiveKind::ReduceScatter &&
                  made.call->kind == CollectiveKind::AllReduce;
    return isDear ? 2 + phase : 0;
  }

  /// Matches as many rows and calls as possible whose orders agree: the longest
  /// common subsequence. Calls in another order are left to equal().
  void inOrder() {
    constexpr size_t most = 2000;
    size_t rows = needs.size(), columns = calls.size();
    if (rows > most || columns > most)
      return;
    std::vector<std::vector<int>> best(rows + 1,
                                       std::vector<int>(columns + 1, 0));
    for (size_t i = rows; i-- > 0;)
      for (size_t j = columns; j-- > 0;) {
        best[i][j] = std::max(best[i + 1][j], best[i][j + 1]);
        if (int score = scoreOf(needs[i], calls[j]))
          best[i][j] = std::max(best[i][j], score + best[i + 1][j + 1]);
      }
    for (size_t i = 0, j = 0; i < rows && j < columns;) {
      int score = scoreOf(needs[i], calls[j]);
      if (score && best[i][j] == score + best[i + 1][j + 1]) {
        if (needs[i].kind == calls[j].call->kind)
          all.match(needs[i], calls[j]);
        ++i, ++j;
      } else if (best[i][j] == best[i + 1][j]) {
        ++i;
      } else {
        ++j;
      }
    }
  }

  using Key = std::tuple<Axes, CollectiveKind, int64_t>;
  /// The open calls by axes, kind and elements, in order.
  std::map<Key, std::deque<Made *>> openCalls() {
    std::map<Key, std::deque<Made *>> open;
    for (Made &made : calls)
      if (isOpen(made) && made.call->kind)
        open[{*made.axes, *made.call->kind, made.call->elements}].push_back(
            &made);
    return open;
  }

  /// Takes the first of some calls.
  static Made *take(std::map<Key, std::deque<Made *>> &open, const Key &key) {
    auto found = open.find(key);
    if (found == open.end() || found->second.empty())
      return nullptr;
    Made *made = found->second.front();
    found->second.pop_front();
    return made;
  }

  void equal() {
    std::map<Key, std::deque<Made *>> open = openCalls();
    for (Need &need : needs)
      if (!need.isMatched)
        if (Made *made = take(open, {need.axes, need.kind, need.elements}))
          all.match(need, *made);
  }

  /// An all_reduce that is a reduce_scatter and an all_gather.
  void halves() {
    std::map<Key, std::deque<Made *>> open = openCalls();
    for (Need &need : needs) {
      if (need.isMatched || need.kind != CollectiveKind::AllReduce)
        continue;
      auto gathers =
          open.find({need.axes, CollectiveKind::AllGather, need.elements});
      if (gathers == open.end() || gathers->second.empty())
        continue;
      Made *scatter =
          take(open, {need.axes, CollectiveKind::ReduceScatter, need.elements});
      if (!scatter)
        continue;
      all.match(need, *scatter);
      all.match(need, *take(open, gathers->first));
    }
  }

  /// One row in several calls, one after another.
  void splits() {
    for (Need &need : needs) {
      if (need.isMatched)
        continue;
      std::vector<Made *> run;
      int64_t sum = 0;
      for (Made &made : calls) {
        // Losses and norms add up to any small size.
        if (!isOpen(made) || !made.isOver(need.axes) ||
            made.call->kind != need.kind || made.call->elements <= fewElements)
          continue;
        run.push_back(&made);
        sum += made.call->elements;
        if (sum > need.elements) {
          run.clear();
          sum = 0;
        }
        if (sum == need.elements)
          break;
      }
      if (sum != need.elements || run.empty())
        continue;
      for (Made *made : run)
        all.match(need, *made);
      all.addNote(fmt::format("the {} of {} is made in {} calls",
                              nameOf(need.kind), need.row->tensor, run.size()));
    }
  }

  /// Several rows in one call: a bucket, which may be padded for its ranks.
  void buckets() {
    for (Made &made : calls)
      if (isOpen(made))
        bucket(made);
  }

  void bucket(Made &made) {
    std::vector<Need *> rows;
    for (Need &need : needs)
      if (!need.isMatched && made.isOver(need.axes) &&
          need.kind == made.call->kind)
        rows.push_back(&need);
    // A run of rows in program order.
    size_t begin = 0;
    int64_t sum = 0;
    for (size_t end = 0; end < rows.size() && !made.isMatched; ++end) {
      sum += rows[end]->elements;
      while (sum > made.call->elements)
        sum -= rows[begin++]->elements;
      int64_t padding = (int64_t(end - begin) + 1) * rows[end]->row->group;
      if (begin > end || made.call->elements - sum >= padding || begin == end)
        continue;
      for (size_t i = begin; i <= end; ++i)
        all.match(*rows[i], made);
      all.addNote(fmt::format("{} collectives of the program, from {} to {}, "
                              "are one call",
                              end - begin + 1, rows[begin]->row->tensor,
                              rows[end]->row->tensor));
    }
  }

  /// An all_reduce where a reduce_scatter does: it sends more, and is right.
  void dear() {
    std::map<Key, std::deque<Made *>> open = openCalls();
    for (Need &need : needs) {
      if (need.isMatched || need.kind != CollectiveKind::ReduceScatter)
        continue;
      Made *made =
          take(open, {need.axes, CollectiveKind::AllReduce, need.elements});
      if (!made)
        continue;
      all.addFinding(
          TraceFault::OtherKind, TraceOutcome::Right,
          fmt::format("an all_reduce over {} where a reduce_scatter of {} "
                      "does: right, and sends twice as much",
                      axesText(all.mesh, need.axes), need.row->tensor),
          &need, made->call);
      all.match(need, *made);
    }
  }

  Matching &all;
  std::vector<Need> &needs;
  std::vector<Made> &calls;
};

} // namespace

void tpsp::check::matchExactly(Matching &matching) {
  ExactMatch(matching).run();
}
