#include "StepRecords.h"

#include "RankContext.h"

#include <fmt/format.h>

#include <cstdio>

namespace tpsp::rt {

Status StepRecords::run(tpsp_rt_rank &rank, const void *identity,
                        const Issue &issue) {
  TPSP_TRY(rank.beginStep());
  if (!rank.backend->recordsSteps())
    return rank.issueStep(issue);
  Entry &entry = steps[identity];
  if (!entry.hasRun || entry.isRefused) {
    Status status = rank.issueStep(issue);
    entry.hasRun = entry.hasRun || status.ok();
    return status;
  }
  if (!entry.recorded) {
    Status why = record(rank, issue, entry);
    TPSP_TRY(rank.beginStep());
    if (!why.ok()) {
      entry.isRefused = true;
      if (!rank.aborted)
        warn(rank, why);
      return rank.issueStep(issue);
    }
  }
  if (rank.aborted.load(std::memory_order_relaxed))
    return abortedByAnother();
  return rank.backend->replay(*entry.recorded);
}

/// A failure while recording does not fail the run if the backend can continue.
/// The step is then issued, and reports its own failure if it has one.
Status StepRecords::record(tpsp_rt_rank &rank, const Issue &issue,
                           Entry &entry) {
  std::string before = rank.lastError;
  TPSP_TRY(rank.backend->beginRecording());
  Status status = rank.issueStep(issue);
  if (status.ok())
    status = rank.backend->endRecording(entry.recorded);
  else
    rank.backend->dropRecording();
  rank.lastError = std::move(before);
  return status;
}

void StepRecords::warn(const tpsp_rt_rank &rank, const Status &why) {
  std::string text =
      fmt::format("rank {} runs its steps command by command, because they "
                  "could not be recorded: {}",
                  rank.number, why.message());
  if (rank.world.config.warn)
    rank.world.config.warn(text);
  else
    fmt::print(stderr, "tpsp: warning: {}\n", text);
}

} // namespace tpsp::rt
