#include "Matching.h"

#include "Ledger.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

using namespace tpsp;
using namespace tpsp::check;

bool tpsp::check::contains(const Axes &axes, const Axes &others) {
  return std::includes(axes.begin(), axes.end(), others.begin(), others.end());
}

Axes tpsp::check::without(const Axes &axes, const Axes &others) {
  Axes rest;
  std::set_difference(axes.begin(), axes.end(), others.begin(), others.end(),
                      std::back_inserter(rest));
  return rest;
}

Axes tpsp::check::joined(const Axes &axes, const Axes &others) {
  Axes both;
  std::set_union(axes.begin(), axes.end(), others.begin(), others.end(),
                 std::back_inserter(both));
  return both;
}

Axes tpsp::check::wide(const rt::RankMesh &mesh, Axes axes) {
  axes.erase(
      std::remove_if(axes.begin(), axes.end(),
                     [&](int64_t axis) { return mesh.axes()[axis].size == 1; }),
      axes.end());
  return axes;
}

/// Whether a rank's stage performs a row.
static bool takesPart(const Plan &plan, const LedgerRow &row,
                      const std::vector<int64_t> &at) {
  return row.stages.empty() || plan.stageAxis < 0 ||
         std::find(row.stages.begin(), row.stages.end(), at[plan.stageAxis]) !=
             row.stages.end();
}

void Matching::addRows(int64_t rank, int64_t steps) {
  std::vector<Need> once;
  std::vector<int64_t> at = mesh.coordinates(rank);
  for (const LedgerRow &row : plan.ledger) {
    if (row.group < 2 || row.kind == CollectiveKind::Slice ||
        row.commands.empty() || !takesPart(plan, row, at))
      continue;
    Need need;
    need.row = &row;
    need.axes = wide(mesh, axesOf(plan, row));
    std::sort(need.axes.begin(), need.axes.end());
    need.kind = row.kind;
    for (int64_t command : row.commands) {
      const PlanCommand &each = plan.commands[command];
      need.elementBytes = rt::elementBytes(each.dtype);
      need.elements +=
          each.collective.bytes / std::max<int64_t>(1, need.elementBytes);
    }
    once.insert(once.end(), row.times, need);
  }
  std::stable_sort(once.begin(), once.end(), [](const Need &a, const Need &b) {
    return a.row->commands.front() < b.row->commands.front();
  });
  for (int64_t step = 0; step < steps; ++step)
    needs.insert(needs.end(), once.begin(), once.end());
}

void Matching::match(Need &need, Made &made) {
  matched += !made.isMatched;
  int64_t bytes = made.call->elementBytes;
  if (isSum(need.kind) && bytes > 0 && bytes < need.elementBytes &&
      !need.isMatched)
    addFinding(TraceFault::FewerBits, TraceOutcome::Untold,
               fmt::format("the {} of {} adds up in {} bits, and the program "
                           "in {}",
                           nameOf(need.kind), need.row->tensor, 8 * bytes,
                           8 * need.elementBytes),
               &need, made.call)
        .doubt = "a run in this type is compared with --dtype";
  need.isMatched = made.isMatched = true;
  pairs.push_back({&need, made.call});
}

TraceFinding &Matching::addFinding(TraceFault fault, TraceOutcome outcome,
                                   std::string text, const Need *need,
                                   const RecordedCall *call) {
  for (TraceFinding &each : findings)
    if (each.fault == fault && each.text == text) {
      ++each.times;
      return each;
    }
  TraceFinding finding;
  finding.fault = fault;
  finding.outcome = outcome;
  finding.text = std::move(text);
  if (need) {
    finding.collective = rowText(*need->row);
    finding.rule = ruleOf(*need->row) + " (docs/Spec.md)";
    finding.location = need->row->location;
    finding.axes = need->row->axes;
  }
  if (call)
    finding.line = call->line;
  findings.push_back(std::move(finding));
  return findings.back();
}

void Matching::addNote(std::string note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end())
    notes.push_back(std::move(note));
}
