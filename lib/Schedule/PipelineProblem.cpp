#include "tpsp/Schedule/PipelineProblem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace tpsp;

double PipelineProblem::secondsOf(PipelineWork work, int64_t chunk,
                                  int64_t part) const {
  const Chunk &of = chunks[chunk];
  double more = work == lastWork() && part + 1 == parts ? of.reducing : 0;
  switch (work) {
  case PipelineWork::Forward:
    return of.forward + more;
  case PipelineWork::Backward:
    return (splitsWeights ? of.input : of.backward) + more;
  case PipelineWork::Weights:
    return of.weights + more;
  case PipelineWork::SendForward:
    return of.sendForward;
  case PipelineWork::SendBackward:
    return of.sendBackward;
  }
  return 0;
}

std::vector<int64_t> PipelineProblem::chunksOf(int64_t stage) const {
  std::vector<int64_t> own;
  for (int64_t chunk = 0; chunk < int64_t(chunks.size()); ++chunk)
    if (stageOf(chunk) == stage)
      own.push_back(chunk);
  return own;
}

std::vector<PipelineCommand> tpsp::readsOf(const PipelineProblem &problem,
                                           const PipelineCommand &command) {
  auto [work, chunk, part, start, end] = command;
  switch (work) {
  case PipelineWork::Forward:
    if (chunk == 0)
      return {};
    return {{problem.sendsForward(chunk - 1) ? PipelineWork::SendForward
                                             : PipelineWork::Forward,
             chunk - 1, part}};
  case PipelineWork::Backward:
    if (chunk + 1 == int64_t(problem.chunks.size()))
      return {{PipelineWork::Forward, chunk, part}};
    return {{PipelineWork::Forward, chunk, part},
            {problem.sendsBackward(chunk + 1) ? PipelineWork::SendBackward
                                              : PipelineWork::Backward,
             chunk + 1, part}};
  case PipelineWork::SendForward:
    return {{PipelineWork::Forward, chunk, part}};
  case PipelineWork::SendBackward:
  case PipelineWork::Weights:
    return {{PipelineWork::Backward, chunk, part}};
  }
  return {};
}

std::optional<std::string> PipelineProblem::check() const {
  if (stages < 1 || chunksPerStage < 1 || parts < 1)
    return fmt::format("{} stages, {} chunks and {} micro-batches: there is at "
                       "least one of each",
                       stages, chunksPerStage, parts);
  if (int64_t(chunks.size()) != stages * chunksPerStage)
    return fmt::format("{} chunks are described, not {} x {}", chunks.size(),
                       stages, chunksPerStage);
  for (const Chunk &of : chunks)
    for (double seconds : {of.forward, of.backward, of.input, of.weights,
                           of.reducing, of.sendForward, of.sendBackward})
      if (!(seconds >= 0) || !std::isfinite(seconds))
        return fmt::format("a command takes {} seconds", seconds);
  if (int64_t(bound.size()) != stages)
    return fmt::format("{} bounds are given for {} stages", bound.size(),
                       stages);
  for (int64_t units : bound)
    if (units < chunksPerStage)
      return fmt::format("a stage may save {} units, and one micro-batch has "
                         "{}; allow as many",
                         units, chunksPerStage);
  int64_t all = parts * chunksPerStage;
  for (int64_t units : bound)
    if (forwardFirst && hasBackward && units < all)
      return fmt::format("a stage may save {} units, and saves {} before its "
                         "first backward command; allow as many, or take "
                         "another schedule",
                         units, all);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Policies
//===----------------------------------------------------------------------===//

const std::vector<PipelinePolicy> &tpsp::pipelinePolicies() {
  using Problem = PipelineProblem;
  static const std::vector<PipelinePolicy> policies = {
      {"gpipe", false, true,
       [](const Problem &of, int64_t) { return of.parts * of.chunksPerStage; }},
      {"1f1b", false, false,
       [](const Problem &of, int64_t stage) { return of.unitsOf1f1b(stage); }},
      {"zero-bubble", true, false, [](const Problem &of, int64_t) {
         return of.chunksPerStage * of.stages;
       }}};
  return policies;
}

const PipelinePolicy *tpsp::findPolicy(const std::string &name) {
  for (const PipelinePolicy &policy : pipelinePolicies())
    if (policy.name == name)
      return &policy;
  return nullptr;
}

void tpsp::apply(const PipelinePolicy &policy, int64_t units,
                 PipelineProblem &problem) {
  problem.splitsWeights = policy.splitsWeights && problem.hasBackward;
  problem.forwardFirst = policy.forwardFirst;
  problem.bound.clear();
  for (int64_t stage = 0; stage < problem.stages; ++stage)
    problem.bound.push_back(
        std::min(units > 0 ? units : policy.bound(problem, stage),
                 problem.parts * problem.chunksPerStage));
}
