#include "LedgerMatch.h"

#include "Hypotheses.h"
#include "Ledger.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

using namespace tpsp;
using namespace tpsp::check;

/// A call of so few elements is a norm, a loss or a log's number.
static constexpr int64_t fewElements = 8;

LedgerMatch::LedgerMatch(const Plan &plan, const rt::RankMesh &mesh,
                         TraceReport &report)
    : plan(plan), mesh(mesh), report(report) {
  addRows();
}

void LedgerMatch::addRows() {
  for (const LedgerRow &row : plan.ledger) {
    if (row.group < 2 || row.kind == CollectiveKind::Slice ||
        row.commands.empty())
      continue;
    Needed needed;
    needed.row = &row;
    needed.axes = axesOf(plan, row);
    std::sort(needed.axes.begin(), needed.axes.end());
    needed.kind = row.kind;
    for (int64_t command : row.commands) {
      const PlanCommand &each = plan.commands[command];
      needed.elementBytes = rt::elementBytes(each.dtype);
      needed.elements +=
          each.collective.bytes / std::max<int64_t>(1, needed.elementBytes);
    }
    for (int64_t i = 0; i < row.times; ++i)
      needs.push_back(needed);
  }
}

void LedgerMatch::add(const RecordedCall &call,
                      const std::optional<std::vector<int64_t>> &axes) {
  Made &made = calls.emplace_back();
  made.call = &call;
  made.isKnown = axes.has_value();
  made.axes = axes.value_or(Axes());
}

void LedgerMatch::match(Needed &needed, Made &made) {
  report.matched += !made.isMatched;
  bool isSum = needed.kind == CollectiveKind::AllReduce ||
               needed.kind == CollectiveKind::ReduceScatter;
  int64_t bytes = made.call->elementBytes;
  if (isSum && bytes > 0 && bytes < needed.elementBytes && !needed.isMatched)
    addFinding(TraceFault::FewerBits,
               fmt::format("the {} of {} adds up in {} bits, and the program "
                           "in {}",
                           nameOf(needed.kind), needed.row->tensor, 8 * bytes,
                           8 * needed.elementBytes),
               &needed, made.call);
  needed.isMatched = made.isMatched = true;
}

/// How well a call performs a row: 0 if it does not.
int LedgerMatch::scoreOf(const Needed &needed, const Made &made) {
  if (!made.isKnown || made.axes != needed.axes ||
      made.call->elements != needed.elements)
    return 0;
  if (made.call->kind == needed.kind)
    return 3;
  bool isDear = needed.kind == CollectiveKind::ReduceScatter &&
                made.call->kind == CollectiveKind::AllReduce;
  return isDear ? 2 : 0;
}

/// Matches as many rows and calls as possible whose orders agree: the longest
/// common subsequence. Calls in another order are left to matchEqual().
void LedgerMatch::matchInOrder() {
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
        match(needs[i], calls[j]);
      else
        matchDear(needs[i], calls[j]);
      ++i, ++j;
    } else if (best[i][j] == best[i + 1][j]) {
      ++i;
    } else {
      ++j;
    }
  }
}

void LedgerMatch::matchEqual() {
  for (Made &made : calls)
    for (Needed &needed : needs)
      if (!made.isMatched && !needed.isMatched && made.isKnown &&
          made.axes == needed.axes && made.call->kind == needed.kind &&
          made.call->elements == needed.elements)
        match(needed, made);
}

/// Whether `made` is the other half of an all_reduce.
bool LedgerMatch::completes(Needed &needed, Made &made) {
  for (Made &other : calls)
    if (!other.isMatched && &other != &made && other.isKnown &&
        other.axes == needed.axes &&
        other.call->kind == CollectiveKind::AllGather &&
        other.call->elements == needed.elements) {
      match(needed, other);
      return true;
    }
  return false;
}

/// An all_reduce that is a reduce_scatter and an all_gather.
void LedgerMatch::matchParts() {
  for (Needed &needed : needs)
    for (Made &made : calls)
      if (!needed.isMatched && !made.isMatched && made.isKnown &&
          needed.kind == CollectiveKind::AllReduce &&
          made.call->kind == CollectiveKind::ReduceScatter &&
          made.axes == needed.axes && made.call->elements == needed.elements &&
          completes(needed, made))
        match(needed, made);
}

/// One row in several calls, one after another.
void LedgerMatch::matchSplits() {
  for (Needed &needed : needs) {
    if (needed.isMatched)
      continue;
    std::vector<Made *> run;
    int64_t sum = 0;
    for (Made &made : calls) {
      if (made.isMatched || !made.isKnown || made.axes != needed.axes ||
          made.call->kind != needed.kind)
        continue;
      run.push_back(&made);
      sum += made.call->elements;
      if (sum > needed.elements) {
        run.clear();
        sum = 0;
      }
      if (sum == needed.elements)
        break;
    }
    if (sum == needed.elements && !run.empty())
      for (Made *made : run)
        match(needed, *made);
  }
}

/// Several rows in one call: a bucket, which may be padded for its ranks.
void LedgerMatch::matchBuckets() {
  for (Made &made : calls) {
    if (made.isMatched || !made.isKnown)
      continue;
    std::vector<Needed *> rows;
    for (Needed &needed : needs)
      if (!needed.isMatched && needed.axes == made.axes &&
          needed.kind == made.call->kind)
        rows.push_back(&needed);
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
        match(*rows[i], made);
    }
  }
}

/// An all_reduce where a reduce_scatter does: it sends more, and is right.
void LedgerMatch::matchOtherKinds() {
  for (Needed &needed : needs)
    for (Made &made : calls)
      if (!needed.isMatched && !made.isMatched && made.isKnown &&
          needed.kind == CollectiveKind::ReduceScatter &&
          made.call->kind == CollectiveKind::AllReduce &&
          made.axes == needed.axes && made.call->elements == needed.elements)
        matchDear(needed, made);
}

void LedgerMatch::matchDear(Needed &needed, Made &made) {
  addFinding(TraceFault::OtherKind,
             fmt::format("an all_reduce over {} where a reduce_scatter of {} "
                         "does: right, and sends twice as much",
                         axesText(mesh, made.axes), needed.row->tensor),
             &needed, made.call);
  match(needed, made);
}

/// A tensor may be gathered again, or kept: that is no fault.
void LedgerMatch::matchRepeatedGathers() {
  for (Needed &needed : needs) {
    if (needed.kind != CollectiveKind::AllGather)
      continue;
    bool isAgain = false;
    for (const Needed &other : needs)
      isAgain |= &other != &needed && other.isMatched &&
                 other.kind == needed.kind && other.axes == needed.axes &&
                 other.row->tensor == needed.row->tensor;
    if (!needed.isMatched && isAgain) {
      needed.isMatched = true;
      report.notes.push_back(fmt::format(
          "{} is gathered once and kept, where the program gathers it again",
          needed.row->tensor));
    }
    for (Made &made : calls)
      if (needed.isMatched && !made.isMatched && made.isKnown &&
          made.call->kind == needed.kind && made.axes == needed.axes &&
          made.call->elements == needed.elements) {
        made.isMatched = true;
        ++report.matched;
        report.notes.push_back(
            fmt::format("{} is gathered once more", needed.row->tensor));
      }
  }
}

LedgerMatch::Made *LedgerMatch::unmatched(const Needed &needed, bool sameAxes,
                                          bool sameSize) {
  for (Made &made : calls)
    if (!made.isMatched && made.call->kind == needed.kind &&
        (made.isKnown && made.axes == needed.axes) == sameAxes &&
        (made.call->elements == needed.elements) == sameSize &&
        made.call->elements > fewElements)
      return &made;
  return nullptr;
}

/// The tensors of the program that have so many elements on a rank: "as many
/// as g[w1]".
std::string LedgerMatch::sizeText(int64_t elements) const {
  for (const PlanBuffer &buffer : plan.buffers) {
    int64_t bytes = rt::elementBytes(buffer.dtype);
    if (!buffer.name.empty() && bytes > 0 && buffer.bytes == elements * bytes)
      return fmt::format(", as many as {} has", buffer.name);
  }
  return "";
}

void LedgerMatch::findMissing() {
  for (Needed &needed : needs) {
    if (needed.isMatched)
      continue;
    std::string what =
        fmt::format("the {} of {} over {}", nameOf(needed.kind),
                    needed.row->tensor, fmt::join(needed.row->axes, " and "));
    if (Made *made = unmatched(needed, /*sameAxes=*/false, /*sameSize=*/true)) {
      made->isMatched = true;
      addFinding(TraceFault::OtherGroup,
                 fmt::format("{} is over {}", what,
                             made->isKnown
                                 ? axesText(mesh, made->axes)
                                 : "a group that the mesh does not have"),
                 &needed, made->call);
      continue;
    }
    if (Made *made = unmatched(needed, /*sameAxes=*/true, /*sameSize=*/false)) {
      made->isMatched = true;
      addFinding(TraceFault::OtherSize,
                 fmt::format("{} has {} elements, and the recorded one {}{}",
                             what, needed.elements, made->call->elements,
                             sizeText(made->call->elements)),
                 &needed, made->call);
      continue;
    }
    addFinding(TraceFault::Missing,
               fmt::format("{} ({} elements)", what, needed.elements), &needed,
               nullptr);
  }
}

void LedgerMatch::findNotNeeded() {
  int64_t few = 0;
  for (Made &made : calls) {
    if (made.isMatched)
      continue;
    if (made.call->elements <= fewElements) {
      ++few;
      continue;
    }
    addFinding(TraceFault::NotNeeded,
               fmt::format("{} of {} elements over {}{}",
                           nameOf(made.call->kind), made.call->elements,
                           made.isKnown ? axesText(mesh, made.axes)
                                        : "a group that the mesh does not have",
                           sizeText(made.call->elements)),
               nullptr, made.call);
  }
  if (few > 0)
    report.notes.push_back(fmt::format(
        "calls of at most {} elements, taken for norms, losses and logs: {}",
        fewElements, few));
}

void LedgerMatch::addFinding(TraceFault fault, std::string text,
                             const Needed *needed, const RecordedCall *call) {
  for (TraceFinding &each : report.findings)
    if (each.fault == fault && each.text == text) {
      ++each.times;
      return;
    }
  TraceFinding finding;
  finding.fault = fault;
  finding.text = std::move(text);
  if (needed) {
    finding.collective = rowText(*needed->row);
    finding.rule = ruleOf(*needed->row) + " (docs/Spec.md)";
    finding.location = needed->row->location;
  }
  if (call)
    finding.line = call->line;
  report.findings.push_back(std::move(finding));
}

void LedgerMatch::run() {
  std::stable_sort(needs.begin(), needs.end(),
                   [](const Needed &a, const Needed &b) {
                     return a.row->commands.front() < b.row->commands.front();
                   });
  matchInOrder();
  matchEqual();
  matchParts();
  matchSplits();
  matchBuckets();
  matchRepeatedGathers();
  matchOtherKinds();
  findMissing();
  findNotNeeded();
}
