/// The evaluation of a candidate, and the interface of evaluators.
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
/// The name, among an evaluation's parts, of the time in which a device waits
/// for commands.
inline constexpr const char *hostPart = "waiting for the host";

struct MemoryBill {
  int64_t parameters = 0, gradients = 0, state = 0;
  /// Arguments that are not parameters, and results.
  int64_t inputs = 0, outputs = 0;
  /// All other buffers at the peak.
  int64_t activations = 0;
  /// The most bytes saved for the backward pass, and the most bytes of
  /// gradients. Their maxima need not be at the peak.
  int64_t saved = 0, mostGradients = 0;
  /// The bytes that the rank allocates, and those that it would allocate if
  /// commands ran one after another.
  int64_t total = 0, serial = 0;
  /// With a profile: the bytes that the other system allocates, and those that
  /// it reserves at least. `total` is then no less than the former. 0 if the
  /// profile has no formula for the plan.
  int64_t profiled = 0, profiledReserved = 0;

  /// An upper bound on the saved bytes among `activations`.
  int64_t savedAtPeak() const { return std::min(saved, activations); }
};

struct NamedBytes {
  std::string name;
  int64_t bytes = 0;
};

/// The errors of figures that are composed of few layers, as shares
/// (docs/Planner.md). The whole program's step may be shorter or longer, its
/// streams may be busy for less time, and its bytes may be fewer or more.
struct CompositionError {
  double lessTime = 0, moreTime = 0, busy = 0, lessMemory = 0, moreMemory = 0;

  double time() const { return std::max(lessTime, moreTime); }
  double memory() const { return std::max(lessMemory, moreMemory); }
  /// Raises each error to that of `other`.
  void raiseTo(const CompositionError &other);
};

struct Evaluation {
  Candidate candidate;
  /// Why the compiler refuses it; empty if it does not. The other members are
  /// valid only if this is empty.
  std::string refusal;
  /// Seconds of a step.
  double seconds = 0;
  /// Seconds of exposed communication, and of all communication.
  double exposed = 0, communication = 0;
  /// Seconds for which the rank computes, and for which each of its
  /// communication streams is busy ("collectives over nvlink"). No step is
  /// shorter than the longest of these.
  double computing = 0;
  std::map<std::string, double> links;
  /// Seconds of computing if a collective runs all the time, and the factor by
  /// which cores are then slower.
  double slowedComputing = 0, slowdown = 1;
  /// With stages: the share of the time up to the last micro-batch's end in
  /// which a stage computes nothing, on average.
  double bubble = 0;
  /// With stages, the memory of the largest stage.
  MemoryBill memory;
  /// A few buffers that are in use at the peak, largest first.
  std::vector<NamedBytes> largest;
  /// The part of memory.saved that belongs to the composed layers; 0 if the
  /// evaluation is not composed.
  int64_t savedByLayers = 0;
  /// Whether seconds and bytes are extrapolated from fewer layers.
  bool isComposed = false;
  /// If it is composed, the error of seconds and bytes.
  CompositionError error;
  /// Least seconds of the whole step, from its step without overlap; 0 if not
  /// known.
  double atLeast = 0;
  /// Least seconds of the candidate's whole step with any settings that may
  /// fit; 0 if not known.
  double leastOfSettings = 0;
  /// Whether it is without overlap, because there was no time for overlapping.
  bool isSerial = false;
  /// Whether nothing was compiled: seconds and bytes are lower bounds.
  bool isBound = false;
  /// The least seconds of the settings that were not tried because they cannot
  /// beat the best plan. Infinite if there are none.
  double untried = std::numeric_limits<double>::infinity();
  /// The fastest settings that were tried and exceed the memory by less than
  /// the error of composition. They may be without overlap (isSerial). Null if
  /// there are none.
  std::shared_ptr<const Evaluation> nearlyFits;
  /// Seconds of the evaluation itself. They only serve to estimate the time of
  /// other evaluations.
  double evaluationSeconds = 0;
  /// The parts of the step's time in seconds: "matmul", "kernel", and for
  /// exposed communication "all_gather over fsdp".
  std::map<std::string, double> parts;
  /// The rank's work, counted.
  StepWork work;
  /// For a part of communication, the tensor that takes most of its time.
  std::map<std::string, std::string> tensors;

  bool isLegal() const { return refusal.empty(); }
  /// Whether it was compiled, and fits into `memoryLimit` bytes.
  bool isPlan(int64_t memoryLimit) const {
    return isLegal() && !isBound && memory.total <= memoryLimit;
  }
  /// Least seconds of a step of these commands, however they overlap:
  /// leastSeconds(). If it is composed, reduced by its error.
  double busiestSeconds() const;
  /// Whether the whole program may fit into `memoryLimit` bytes, and whether it
  /// surely fits.
  bool mayFitWhole(int64_t memoryLimit) const {
    return (1 - error.lessMemory) * double(memory.total) <= double(memoryLimit);
  }
  bool surelyFitsWhole(int64_t memoryLimit) const {
    return (1 + error.moreMemory) * double(memory.total) <= double(memoryLimit);
  }
  /// The least and the most seconds of the whole program's step with overlap.
  double leastWhole() const;
  double mostWhole() const { return (1 + error.moreTime) * seconds; }
};

/// Compiles and simulates. An evaluator is used by one thread at a time.
class Evaluator {
public:
  virtual ~Evaluator();
  /// Evaluates the candidate with its settings. The result may be composed of
  /// parts of the program (isComposed).
  virtual Evaluation evaluate(const Candidate &candidate) = 0;
  /// Evaluates the whole program.
  virtual Evaluation evaluateWhole(const Candidate &candidate) {
    return evaluate(candidate);
  }
  /// Evaluates with one command after another, which is much faster than
  /// evaluate() with overlap. With overlap the step takes at most as long, and
  /// at least as long as this step's busiest stream.
  virtual Evaluation evaluateSerially(const Candidate &candidate) {
    return evaluate(candidate);
  }
  /// Evaluates the whole program with one command after another.
  virtual Evaluation evaluateWholeSerially(const Candidate &candidate) {
    return evaluateWhole(candidate);
  }
  /// The factor by which evaluateWhole() may take longer than evaluate().
  virtual double wholeEffort() const { return 1; }
};

/// Adds `times` (`b` - `a`) to `sum`: the cost of more layers, if `b` has more
/// layers than `a`. Nothing becomes negative. Communication that `a` exposes
/// stays exposed. If `b` exposes less, that may be chance, and many layers
/// would seem to expose nothing.
void addDifference(Evaluation &sum, const Evaluation &a, const Evaluation &b,
                   double times);

/// A step of which the share `share` of the layers is as in `b` and the others
/// are as in `a`. Both must be legal, and of the same program and mesh.
Evaluation mixtureOf(const Evaluation &a, const Evaluation &b, double share);

/// Limits the memory of a composed step with overlap. A schedule adds at most
/// `share` to the memory of the serial step, and stays within `device` bytes if
/// the serial step does. Few layers predict the serial step's memory well but
/// the schedule's less well, because a deep step has other gaps for added
/// buffers.
void boundBySerial(MemoryBill &sum, double share, int64_t device);

/// Makes `sum` at least as long as its busiest stream. Time with overlap is not
/// linear in the layers. In a shallow step a link still sends tensors of the
/// ends (embedding, head) while an additional layer computes. So the layer
/// seems to take less time than its own communication. The busy time of streams
/// is linear, and with many layers the busiest stream decides.
void boundByBusiest(Evaluation &sum);

/// Makes an evaluator for each thread.
using EvaluatorFactory = std::function<std::unique_ptr<Evaluator>()>;

/// How a candidate is evaluated.
using EvaluateCandidate = llvm::function_ref<Evaluation(const Candidate &)>;

/// Evaluates the candidate with the first of `settings` that need at most
/// `limit` bytes per rank; if none do, with the last. Adds the number of
/// evaluations to `evaluations`. With stages, the settings of each
/// rematerialisation are sorted by promise. If the first do not fit, more
/// micro-batches are tried, then fewer chunks. From settings that fit, more and
/// fewer of both are tried as long as the step gets faster.
Evaluation evaluateWithSettings(EvaluateCandidate evaluate, Candidate candidate,
                                const std::vector<Settings> &settings,
                                int64_t limit, int64_t &evaluations);

/// The fastest evaluation that steps from `known`, a candidate with stages that
/// fits, to more and fewer micro-batches and chunks among `settings` lead to.
Evaluation fasterNeighbour(EvaluateCandidate evaluate, const Evaluation &known,
                           const std::vector<Settings> &settings,
                           int64_t limit);

/// Whether `a` comes before `b`: it is nearer to fitting, is faster, needs less
/// memory, has fewer axes, or its text comes first alphabetically.
bool comesBefore(const Evaluation &a, const Evaluation &b, int64_t limit,
                 const ProgramFacts &facts);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_EVALUATION_H
