#include "tpsp/Planner/Evaluation.h"

#include <algorithm>
#include <tuple>
#include <type_traits>

using namespace tpsp;
using namespace tpsp::planner;

Evaluator::~Evaluator() = default;

/// What lasts grows as it does. The peak of what does not may be elsewhere in a
/// shallow step, but where there are layers enough, it has what is saved.
static void addMemory(MemoryBill &sum, const MemoryBill &a, const MemoryBill &b,
                      double times) {
  int64_t before = sum.total;
  for (int64_t MemoryBill::*part :
       {&MemoryBill::parameters, &MemoryBill::gradients, &MemoryBill::state,
        &MemoryBill::inputs, &MemoryBill::outputs, &MemoryBill::saved}) {
    // Of gradients that are used at once, a deeper step may keep fewer at its
    // peak. Many layers do not have ever less of them.
    int64_t more =
        int64_t(times * double(std::max<int64_t>(b.*part - a.*part, 0)));
    sum.*part += more;
    if (part != &MemoryBill::saved)
      before += more;
  }
  int64_t activations = std::max(int64_t(times * double(b.saved - a.saved)),
                                 b.activations - a.activations);
  sum.activations += activations;
  sum.total = before + activations;
}

void StepWork::addDifference(const StepWork &a, const StepWork &b,
                             double times) {
  auto more = [&](auto before, auto after) {
    return times * (double(after) - double(before));
  };
  for (const auto &[shape, count] : b.products) {
    auto before = a.products.find(shape);
    products[shape] +=
        int64_t(more(before == a.products.end() ? 0 : before->second, count));
  }
  attentions += int64_t(more(a.attentions, b.attentions));
  kernelSeconds += more(a.kernelSeconds, b.kernelSeconds);
}

double Evaluation::busiestSeconds() const {
  double busiest = computing;
  for (const auto &[axes, seconds] : links)
    busiest = std::max(busiest, seconds);
  return busiest;
}

void tpsp::planner::boundByBusiest(Evaluation &sum) {
  sum.seconds = std::max(sum.seconds, sum.busiestSeconds());
}

void tpsp::planner::addDifference(Evaluation &sum, const Evaluation &a,
                                  const Evaluation &b, double times) {
  sum.isComposed = true;
  sum.evaluationSeconds += b.evaluationSeconds;
  auto add = [&](auto &out, auto from, auto to) {
    double value = double(out) + times * (double(to) - double(from));
    out = static_cast<std::decay_t<decltype(out)>>(std::max(value, 0.0));
  };
  add(sum.seconds, a.seconds, b.seconds);
  add(sum.exposed, a.exposed, b.exposed);
  add(sum.communication, a.communication, b.communication);
  add(sum.computing, a.computing, b.computing);
  addMemory(sum.memory, a.memory, b.memory, times);
  sum.work.addDifference(a.work, b.work, times);
  for (auto part : {&Evaluation::parts, &Evaluation::links})
    for (const auto &[name, seconds] : b.*part) {
      auto before = (a.*part).find(name);
      add((sum.*part)[name], before == (a.*part).end() ? 0 : before->second,
          seconds);
    }
  sum.tensors.insert(b.tensors.begin(), b.tensors.end());
}

/// Whether the settings cannot fit where `known`, of the same
/// rematerialisation, did not: what a micro-batch saves, shrinks no faster than
/// the micro-batch.
static bool areTooLarge(const Settings &settings, const Evaluation &known,
                        int64_t limit) {
  const Settings &had = known.candidate.settings;
  if (!known.isLegal() || settings.rematerialize != had.rematerialize)
    return false;
  double share = double(had.microBatches) / double(settings.microBatches);
  const MemoryBill &memory = known.memory;
  return double(memory.parameters + memory.state) +
             std::min(share, 1.0) * double(memory.saved) >
         double(limit);
}

Evaluation
tpsp::planner::evaluateWithSettings(EvaluateCandidate evaluate,
                                    Candidate candidate,
                                    const std::vector<Settings> &settings,
                                    int64_t limit, int64_t &evaluations) {
  auto with = [&](const Settings &chosen) {
    candidate.settings = chosen;
    ++evaluations;
    return evaluate(candidate);
  };
  Evaluation first = with(settings.front());
  if (!first.isLegal() || first.memory.total <= limit || settings.size() == 1)
    return first;
  // Where even this does not fit, none between does.
  Evaluation last = with(settings.back());
  if (last.isLegal() && last.memory.total > limit)
    return last;
  Evaluation known = first;
  for (size_t i = 1; i + 1 < settings.size(); ++i) {
    if (areTooLarge(settings[i], known, limit))
      continue;
    Evaluation next = with(settings[i]);
    if (next.isLegal() && next.memory.total <= limit)
      return next;
    known = std::move(next);
  }
  return last.isLegal() ? last : first;
}

bool tpsp::planner::comesBefore(const Evaluation &a, const Evaluation &b,
                                int64_t limit, const ProgramFacts &facts) {
  auto key = [&](const Evaluation &e) {
    int64_t excess = std::max<int64_t>(e.memory.total - limit, 0);
    return std::tuple(!e.isLegal(), excess, e.seconds, e.memory.total,
                      e.candidate.axes.size(),
                      subscriptText(e.candidate, facts));
  };
  return key(a) < key(b);
}
