/// What becomes of a candidate, and who finds out.
#ifndef TPSP_PLANNER_EVALUATION_H
#define TPSP_PLANNER_EVALUATION_H

#include "tpsp/Planner/Candidate.h"
#include "tpsp/Planner/StepWork.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>

namespace tpsp::planner {

/// A rank's memory at its peak, in bytes.
struct MemoryBill {
  int64_t parameters = 0, gradients = 0, state = 0;
  /// Arguments that are no parameters, and results.
  int64_t inputs = 0, outputs = 0;
  /// What else there is at the peak.
  int64_t activations = 0;
  /// What the backward pass keeps of the forward pass, when that is most, and
  /// the most gradients. They need not be there at the peak.
  int64_t saved = 0, mostGradients = 0;
  /// What the rank allocates for all of it, and what it would with one command
  /// after another.
  int64_t total = 0, serial = 0;

  /// Of the activations, what the backward pass keeps, at most.
  int64_t savedAtPeak() const { return std::min(saved, activations); }
};

struct NamedBytes {
  std::string name;
  int64_t bytes = 0;
};

/// By what shares of figures that are composed of few layers the whole
/// program's may differ (docs/Planner.md): its step, to both sides; how long
/// its streams are busy, which may be less; its bytes, which may be less or
/// more.
struct CompositionError {
  double seconds = 0, busy = 0, lessMemory = 0, moreMemory = 0;
};

struct Evaluation {
  Candidate candidate;
  /// Why the compiler refuses it; empty if it does not, and only then the rest
  /// says something.
  std::string refusal;
  /// Of a step.
  double seconds = 0;
  /// Of that, communication that nothing hides, and all communication.
  double exposed = 0, communication = 0;
  /// How long the rank computes, and how long each of its communication streams
  /// is busy ("collectives over nvlink"). No step is shorter than the longest
  /// of these.
  double computing = 0;
  std::map<std::string, double> links;
  /// How long it computes where a collective runs all the time, and how many
  /// times longer cores then take.
  double slowedComputing = 0, slowdown = 1;
  /// With stages: the share of the time up to the last micro-batch's end in
  /// which a stage computes nothing, on average.
  double bubble = 0;
  /// With stages, of the largest.
  MemoryBill memory;
  /// In use at the peak, largest first; a few.
  std::vector<NamedBytes> largest;
  /// Of memory.saved, what the layers have that it is composed of; 0 if it is
  /// not.
  int64_t savedByLayers = 0;
  /// Whether seconds and bytes are extrapolated from fewer layers.
  bool isComposed = false;
  /// Then, how far they may be off.
  CompositionError error;
  /// Seconds that the whole step takes at least, as its step without overlap
  /// says; 0 if that is not known.
  double atLeast = 0;
  /// Whether it is without overlap, as there was no time for more.
  bool isSerial = false;
  /// Whether nothing was compiled: seconds and bytes are bounds, at least.
  bool isBound = false;
  /// Of settings that were not tried, as they cannot beat the best plan:
  /// seconds that the fastest takes at least. Infinite if there are none.
  double untried = std::numeric_limits<double>::infinity();
  /// The fastest settings that were tried and are too large by less than the
  /// error of composition, perhaps without overlap (isSerial). Null if there
  /// are none.
  std::shared_ptr<const Evaluation> nearlyFits;
  /// How long the evaluation took. Says how long another may take, and decides
  /// nothing else.
  double evaluationSeconds = 0;
  /// What the step's time is made of: "matmul", "kernel", and for exposed
  /// communication "all_gather over fsdp". Seconds.
  std::map<std::string, double> parts;
  /// What the rank does, counted.
  StepWork work;
  /// For a part of communication, the tensor that it spends most on.
  std::map<std::string, std::string> tensors;

  bool isLegal() const { return refusal.empty(); }
  /// Whether it was compiled, and fits into so many bytes.
  bool isPlan(int64_t memoryLimit) const {
    return isLegal() && !isBound && memory.total <= memoryLimit;
  }
  /// What no step of these commands is shorter than, however they overlap:
  /// leastSeconds(). As far as it is composed, with its error.
  double busiestSeconds() const;
  /// Whether it may fit into so many bytes if it is compiled whole, and whether
  /// it does for sure.
  bool mayFitWhole(int64_t memoryLimit) const {
    return (1 - error.lessMemory) * double(memory.total) <= double(memoryLimit);
  }
  bool surelyFitsWhole(int64_t memoryLimit) const {
    return (1 + error.moreMemory) * double(memory.total) <= double(memoryLimit);
  }
  /// What the step takes if it is compiled whole, and overlapped, at least and
  /// at most.
  double leastWhole() const;
  double mostWhole() const { return (1 + error.seconds) * seconds; }
};

/// Compiles and simulates. An evaluator is used by one thread at a time.
class Evaluator {
public:
  virtual ~Evaluator();
  /// With its settings; perhaps composed of parts of the program
  /// (isComposed()).
  virtual Evaluation evaluate(const Candidate &candidate) = 0;
  /// Of the whole program.
  virtual Evaluation evaluateWhole(const Candidate &candidate) {
    return evaluate(candidate);
  }
  /// With one command after another, where evaluate() has communication under
  /// computation: much sooner. With overlap the step is no longer than this,
  /// and no shorter than this one's busiest stream.
  virtual Evaluation evaluateSerially(const Candidate &candidate) {
    return evaluate(candidate);
  }
  /// Evaluates the whole program with one command after another.
  virtual Evaluation evaluateWholeSerially(const Candidate &candidate) {
    return evaluateWhole(candidate);
  }
  /// How many times longer evaluateWhole() may take than evaluate().
  virtual double wholeEffort() const { return 1; }
};

/// Adds `times` (`b` - `a`) to `sum`: what more layers take, if `b` has more
/// than `a`. Nothing becomes negative. What `a` exposes stays exposed: if `b`
/// exposes less, that may be chance, and many layers would seem to expose
/// nothing.
void addDifference(Evaluation &sum, const Evaluation &a, const Evaluation &b,
                   double times);

/// A schedule adds at most this share to the memory of the serial step, and
/// takes no more than the device has, in bytes, if that step does not. Few
/// layers tell the serial step's memory well, and the schedule's less so: a
/// deep step has other places for what it adds.
void boundBySerial(MemoryBill &sum, double share, int64_t device);

/// Makes `sum` at least as long as its busiest stream. Time with overlap is not
/// linear in the layers: in a shallow step a link still sends what came with
/// the ends (embedding, head) while a layer more computes, so that the layer
/// seems to take less than its own communication. What streams are busy is
/// linear, and where there are many layers the busiest decides.
void boundByBusiest(Evaluation &sum);

/// Makes an evaluator for each thread.
using EvaluatorFactory = std::function<std::unique_ptr<Evaluator>()>;

/// How a candidate is evaluated.
using EvaluateCandidate = llvm::function_ref<Evaluation(const Candidate &)>;

/// The candidate with the first of `settings` that needs at most `limit` bytes
/// a rank; if none does, with the last. `evaluations` counts. With stages the
/// order is that of what is promised, of each rematerialisation. Where the
/// first do not fit, more micro-batches are tried, and then fewer chunks. From
/// what fits, more and fewer of both are tried as long as the step gets faster.
Evaluation evaluateWithSettings(EvaluateCandidate evaluate, Candidate candidate,
                                const std::vector<Settings> &settings,
                                int64_t limit, int64_t &evaluations);

/// Whether `a` comes before `b`: it is nearer to fitting, is faster, needs less
/// memory, has fewer axes, or comes first in the alphabet.
bool comesBefore(const Evaluation &a, const Evaluation &b, int64_t limit,
                 const ProgramFacts &facts);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_EVALUATION_H
