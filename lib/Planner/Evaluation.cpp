#include "tpsp/Planner/Evaluation.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <tuple>
#include <type_traits>

using namespace tpsp;
using namespace tpsp::planner;

Evaluator::~Evaluator() = default;

void CompositionError::raiseTo(const CompositionError &other) {
  for (double CompositionError::*error :
       {&CompositionError::lessTime, &CompositionError::moreTime,
        &CompositionError::busy, &CompositionError::lessMemory,
        &CompositionError::moreMemory})
    this->*error = std::max(this->*error, other.*error);
}

/// Adds the memory of more layers. Lasting buffers grow by their difference.
/// The peak of other buffers may be elsewhere in a shallow step, but with
/// enough layers it includes the saved values.
static void addMemory(MemoryBill &sum, const MemoryBill &a, const MemoryBill &b,
                      double times) {
  auto grow = [&](int64_t MemoryBill::*part) {
    // A slightly deeper step may hold fewer gradients at its peak, but the
    // number does not keep falling with many layers. So the difference is not
    // negative.
    int64_t more =
        int64_t(times * double(std::max<int64_t>(b.*part - a.*part, 0)));
    sum.*part += more;
    return more;
  };
  int64_t lasting = 0;
  for (int64_t MemoryBill::*part : {&MemoryBill::parameters, &MemoryBill::state,
                                    &MemoryBill::inputs, &MemoryBill::outputs})
    lasting += grow(part);
  int64_t gradients = grow(&MemoryBill::gradients);
  grow(&MemoryBill::saved);
  // The bytes besides the most gradients.
  auto others = [](const MemoryBill &bill) {
    return bill.activations + bill.gradients - bill.mostGradients;
  };
  int64_t moving = grow(&MemoryBill::mostGradients) +
                   std::max(int64_t(times * double(b.saved - a.saved)),
                            others(b) - others(a));
  sum.activations += moving - gradients;
  auto kept = [](const MemoryBill &bill) {
    return bill.parameters + bill.state + bill.inputs + bill.outputs +
           bill.saved;
  };
  sum.serial +=
      int64_t(times * double(std::max(b.serial - a.serial, kept(b) - kept(a))));
  sum.total += lasting + moving;
}

void tpsp::planner::boundBySerial(MemoryBill &sum, double share,
                                  int64_t device) {
  int64_t most = int64_t((1 + share) * double(sum.serial));
  if (sum.serial <= device)
    most = std::min(most, device);
  // The excess is taken from gradients and activations in proportion: gradients
  // wait for their collectives in the same proportion as in few layers.
  int64_t moving = sum.activations + sum.gradients;
  int64_t less = std::min(std::max<int64_t>(sum.total - most, 0), moving);
  int64_t ofGradients =
      moving == 0
          ? 0
          : int64_t(double(less) * double(sum.gradients) / double(moving));
  sum.gradients -= ofGradients;
  sum.activations -= less - ofGradients;
  sum.total -= less;
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
  double link = 0;
  for (const auto &[name, seconds] : links)
    link = std::max(link, seconds);
  return (1 - error.busy) *
         leastSeconds({computing, std::max(computing, slowedComputing)}, link,
                      slowdown);
}

double Evaluation::leastWhole() const {
  if (isSerial)
    return busiestSeconds();
  return isComposed ? std::max((1 - error.lessTime) * seconds, atLeast)
                    : seconds;
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
  double exposed = std::max(a.exposed, b.exposed);
  add(sum.seconds, a.seconds, b.seconds - b.exposed + exposed);
  add(sum.exposed, a.exposed, exposed);
  add(sum.communication, a.communication, b.communication);
  add(sum.computing, a.computing, b.computing);
  add(sum.slowedComputing, a.slowedComputing, b.slowedComputing);
  sum.slowdown = b.slowdown;
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

Evaluation tpsp::planner::mixtureOf(const Evaluation &a, const Evaluation &b,
                                    double share) {
  Evaluation sum = a;
  auto between = [&](double from, double to) {
    return (1 - share) * from + share * to;
  };
  for (double Evaluation::*field :
       {&Evaluation::seconds, &Evaluation::exposed, &Evaluation::communication,
        &Evaluation::computing, &Evaluation::slowedComputing,
        &Evaluation::slowdown, &Evaluation::atLeast})
    sum.*field = between(a.*field, b.*field);
  for (int64_t MemoryBill::*field :
       {&MemoryBill::parameters, &MemoryBill::gradients, &MemoryBill::state,
        &MemoryBill::inputs, &MemoryBill::outputs, &MemoryBill::saved,
        &MemoryBill::mostGradients})
    sum.memory.*field =
        int64_t(between(double(a.memory.*field), double(b.memory.*field)));
  // At the peak of a, where the backward pass begins, less is saved. Another
  // peak is within a layer of b.
  for (int64_t MemoryBill::*field :
       {&MemoryBill::activations, &MemoryBill::total, &MemoryBill::serial})
    sum.memory.*field = std::max(
        a.memory.*field - (a.memory.saved - sum.memory.saved), b.memory.*field);
  sum.savedByLayers =
      int64_t(between(double(a.savedByLayers), double(b.savedByLayers)));
  sum.work.addDifference(a.work, b.work, share);
  sum.work.kernelSecondsOfLayers =
      between(a.work.kernelSecondsOfLayers, b.work.kernelSecondsOfLayers);
  sum.isComposed = true;
  sum.evaluationSeconds += b.evaluationSeconds;
  for (auto field : {&Evaluation::parts, &Evaluation::links}) {
    std::map<std::string, double> &mixed = sum.*field;
    mixed.insert((b.*field).begin(), (b.*field).end());
    auto secondsIn = [&](const Evaluation &of, const std::string &name) {
      auto found = (of.*field).find(name);
      return found == (of.*field).end() ? 0 : found->second;
    };
    for (auto &[name, seconds] : mixed)
      seconds = between(secondsIn(a, name), secondsIn(b, name));
  }
  sum.tensors.insert(b.tensors.begin(), b.tensors.end());
  return sum;
}

/// Whether the settings cannot fit because `known`, with the same
/// rematerialisation, did not. N times as small a micro-batch still saves at
/// least 1/N of the bytes.
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

namespace {

/// Tries settings of one candidate, each once. The compiler's time grows with
/// the number of micro-batches. So the step without micro-batches is evaluated
/// first: its saved bytes tell whether other settings may fit.
class SettingsTrial {
public:
  SettingsTrial(EvaluateCandidate evaluate, Candidate candidate,
                const std::vector<Settings> &settings, int64_t limit,
                int64_t &evaluations)
      : evaluate(evaluate), candidate(std::move(candidate)), settings(settings),
        limit(limit), evaluations(evaluations) {}

  /// The fastest evaluation that single steps from `known` lead to.
  Evaluation runFrom(const Evaluation &known) {
    found.push_back(std::make_unique<Evaluation>(known));
    return fastestFrom(*found.back());
  }

  Evaluation run() {
    const Settings &last = settings.back();
    if (settings.size() == 1)
      return with(last);
    if (candidate.hasStages())
      return fastest();
    if (mayFit(settings.front()))
      if (const Evaluation &first = with(settings.front());
          !first.isLegal() || fits(first))
        return first;
    if (!with(undivided(last)).isLegal())
      return with(undivided(last));
    if (llvm::is_contained(settings, undivided(last)) && !mayFit(last))
      return with(undivided(last));
    // If even the last settings do not fit, none before them do.
    bool savesMost = isListedAndFits(undivided(last));
    if (!savesMost && !fits(with(last)))
      return with(last);
    const Evaluation &most = with(savesMost ? undivided(last) : last);
    for (const Settings &each : llvm::ArrayRef(settings).drop_back())
      if (mayFit(each) && fits(with(each)))
        return with(each).seconds <= most.seconds ? with(each) : most;
    return with(last);
  }

private:
  /// The fastest evaluation over all rematerialisations, each searched from its
  /// first settings on.
  Evaluation fastest() {
    const Evaluation *smallest = nullptr;
    llvm::SmallVector<llvm::StringRef> tooLarge;
    for (const Settings &each : settings) {
      if (llvm::is_contained(tooLarge, each.rematerialize))
        continue;
      const Evaluation &first = firstThatMayFit(each);
      if (!first.isLegal())
        return first;
      if (fits(first))
        return fastestFrom(first);
      tooLarge.push_back(each.rematerialize);
      if (!smallest || first.memory.total < smallest->memory.total)
        smallest = &first;
    }
    return *smallest;
  }

  /// Steps to more micro-batches, which need less memory, and then to fewer
  /// chunks, which mostly do.
  const Evaluation &firstThatMayFit(const Settings &start) {
    const Settings *last = &start;
    for (const Settings *each = &start; each; each = moreMicroBatches(*each)) {
      last = each;
      if (!isTooLarge(*each) && (!with(*each).isLegal() || fits(with(*each))))
        return with(*each);
    }
    while (const Settings *fewer = fewerChunks(*last))
      last = fewer;
    return withOtherChunks(with(*last));
  }

  /// If settings nearly fit, tries other numbers of chunks: the arena then has
  /// other gaps.
  const Evaluation &withOtherChunks(const Evaluation &least) {
    constexpr double gaps = 0.02;
    const Settings had = least.candidate.settings;
    if (!least.isLegal() || fits(least) ||
        double(least.memory.total) * (1 - gaps) > double(limit))
      return least;
    for (const Settings &each : settings)
      if (each.rematerialize == had.rematerialize &&
          each.microBatches == had.microBatches && fits(with(each)))
        return with(each);
    return least;
  }

  /// Moves to neighbouring settings as long as they are faster.
  const Evaluation &fastestFrom(const Evaluation &first) {
    const Evaluation *best = &first;
    while (const Evaluation *next = fasterThan(*best))
      best = next;
    return *best;
  }

  /// A faster neighbour; null if there is none. Fewer micro-batches have a
  /// larger bubble, but their products are larger, and parameters that are
  /// stored divided are gathered less often. More chunks have a smaller bubble,
  /// but send more often.
  const Evaluation *fasterThan(const Evaluation &known) {
    const Settings &chosen = known.candidate.settings;
    for (const Settings *next :
         {moreChunks(chosen), fewerChunks(chosen), fewerMicroBatches(chosen),
          moreMicroBatches(chosen)})
      if (next && !isTooLarge(*next) && fits(with(*next)) &&
          with(*next).seconds < known.seconds)
        return &with(*next);
    return nullptr;
  }

  const Settings *moreChunks(const Settings &from) const {
    return next(from, &Settings::chunks, 1, &Settings::microBatches);
  }
  const Settings *fewerChunks(const Settings &from) const {
    return next(from, &Settings::chunks, -1, &Settings::microBatches);
  }
  const Settings *moreMicroBatches(const Settings &from) const {
    return next(from, &Settings::microBatches, 1, &Settings::chunks);
  }
  const Settings *fewerMicroBatches(const Settings &from) const {
    return next(from, &Settings::microBatches, -1, &Settings::chunks);
  }

  /// The nearest settings with more of `moved`, or with less, and with the same
  /// rematerialisation and the same `kept`. Null if there are none.
  const Settings *next(const Settings &from, int64_t Settings::*moved,
                       int direction, int64_t Settings::*kept) const {
    const Settings *nearest = nullptr;
    auto distance = [&](const Settings &each) {
      return direction * (each.*moved - from.*moved);
    };
    for (const Settings &each : settings)
      if (each.rematerialize == from.rematerialize &&
          each.*kept == from.*kept && distance(each) > 0 &&
          (!nearest || distance(each) < distance(*nearest)))
        nearest = &each;
    return nearest;
  }

  /// Whether evaluations with fewer micro-batches show that the settings are
  /// too large.
  bool isTooLarge(const Settings &each) const {
    return llvm::any_of(found, [&](const auto &known) {
      const Settings &had = known->candidate.settings;
      return had.microBatches < each.microBatches &&
             had.chunks == each.chunks && areTooLarge(each, *known, limit);
    });
  }

  static Settings undivided(const Settings &each) {
    return {1, each.rematerialize};
  }

  bool fits(const Evaluation &each) const {
    return each.isLegal() && each.memory.total <= limit;
  }
  bool isListedAndFits(const Settings &each) {
    return llvm::is_contained(settings, each) && fits(with(each));
  }

  bool mayFit(const Settings &each) {
    if (each.microBatches > 1)
      with(undivided(each));
    return !isTooLarge(each);
  }

  const Evaluation &with(const Settings &chosen) {
    for (const auto &known : found)
      if (known->candidate.settings == chosen)
        return *known;
    candidate.settings = chosen;
    ++evaluations;
    found.push_back(std::make_unique<Evaluation>(evaluate(candidate)));
    found.back()->candidate.settings = chosen;
    return *found.back();
  }

  EvaluateCandidate evaluate;
  Candidate candidate;
  const std::vector<Settings> &settings;
  const int64_t limit;
  int64_t &evaluations;
  std::vector<std::unique_ptr<Evaluation>> found;
};

} // namespace

Evaluation
tpsp::planner::evaluateWithSettings(EvaluateCandidate evaluate,
                                    Candidate candidate,
                                    const std::vector<Settings> &settings,
                                    int64_t limit, int64_t &evaluations) {
  return SettingsTrial(evaluate, std::move(candidate), settings, limit,
                       evaluations)
      .run();
}

Evaluation tpsp::planner::fasterNeighbour(EvaluateCandidate evaluate,
                                          const Evaluation &known,
                                          const std::vector<Settings> &settings,
                                          int64_t limit) {
  int64_t tried = 0;
  return SettingsTrial(evaluate, known.candidate, settings, limit, tried)
      .runFrom(known);
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
