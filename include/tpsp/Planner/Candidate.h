/// A candidate: a mesh, the indices that each of its axes divides, and the
/// settings that save memory. The planner decides nothing else; the compiler
/// derives the rest from the subscripts.
///
///   dp = 2 : data    activations b, state       b@dp, and ZeRO-1
///   tp = 4 : model   activations s, parameters h, e, v
///   cp = 4 : data    activations s, heads g     s@cp, and Ulysses
///   cp = 4 : data    activations s, ring        s@cp, and a ring of keys
///   pp = 2 : stage   the layers
///
/// On a model axis parameters stay divided while they are used. On a data axis
/// they may be stored divided, and are then gathered for use. A stage axis
/// divides the program's layers, and no tensor.
#ifndef TPSP_PLANNER_CANDIDATE_H
#define TPSP_PLANNER_CANDIDATE_H

#include "tpsp/Abi/MeshAxis.h"
#include "tpsp/Planner/ProgramFacts.h"

namespace tpsp::planner {

/// The use of one axis: what it divides.
struct AxisUse {
  AxisRole role = AxisRole::Data;
  /// The class of activations.
  std::optional<ClassId> activations;
  /// On a model axis: classes of parameters, ascending.
  std::vector<ClassId> parameters;
  /// On a data axis: parameters of two dimensions and more are stored divided.
  bool storesParameters = false;
  /// On a data axis: the optimizer's state is divided, its parameters are not.
  bool storesState = false;
  /// On a data axis on positions: the class of heads that it divides within
  /// attention, in place of positions (Ulysses). Queries, keys, values and
  /// results are exchanged.
  std::optional<ClassId> heads = {};
  /// On a data axis on positions: keys and values go around a ring of its ranks
  /// within attention, and are not gathered. All such axes on one class agree.
  bool ring = false;

  /// Whether it divides the class outside attention, of activations or of
  /// parameters.
  bool isOn(ClassId id) const;
  /// Whether the axis comes from the program's own mesh without a use, so that
  /// it may divide anything.
  bool isOpen() const;
  bool operator==(const AxisUse &other) const;
};

struct CandidateAxis {
  std::string name;
  int64_t size = 1;
  AxisUse use;
};

/// Settings that trade time for memory and, with stages, the schedule of
/// micro-batches.
struct Settings {
  int64_t microBatches = 1;
  /// "none", "selective", "full", or "full:8" for the first 8 layers.
  std::string rematerialize = "none";
  /// A name of pipelinePolicies(); empty without stages.
  std::string schedule = {};
  /// The number of chunks of layers per stage.
  int64_t chunks = 1;

  bool operator==(const Settings &other) const {
    return microBatches == other.microBatches &&
           rematerialize == other.rematerialize && schedule == other.schedule &&
           chunks == other.chunks;
  }
};

/// The meaning of Settings::rematerialize.
struct Rematerialisation {
  /// "none", "selective", "full".
  std::string mode = "none";
  /// How many layers are rematerialised, the first ones; 0: all.
  int64_t layers = 0;

  static Rematerialisation of(const Settings &settings);
  /// From its text(); other texts are a mode of that name.
  static Rematerialisation named(const std::string &text);
  /// "full:8".
  std::string text() const;
};

struct Candidate {
  /// Major to minor: the last axis is the innermost, along which ranks are
  /// neighbours.
  std::vector<CandidateAxis> axes;
  Settings settings;

  int64_t numRanks() const;
  /// The size of the stage axis; 1 without one.
  int64_t numStages() const;
  bool hasStages() const { return numStages() > 1; }
};

/// The axes that divide each dimension, major to minor, as positions in
/// `Candidate::axes`.
using Subscripts = std::vector<std::vector<unsigned>>;

/// Where a candidate puts an argument, or a value that functions hand to each
/// other.
///
/// Model axes leave inputs of integers whole. Parameters have model axes before
/// data axes, so that gathered parts are contiguous. A data axis that stores
/// parameters divides a dimension that a model axis divides, if possible, else
/// the longest dimension that it can divide.
Subscripts subscriptsOf(const TensorFacts &tensor, const Candidate &candidate);

/// Where a candidate that places them (placesAttention) puts attention's
/// queries, keys, values and results.
Subscripts attentionSubscripts(const TensorFacts &tensor,
                               const Candidate &candidate);

/// Whether an axis divides heads within attention. Attention's tensors have
/// subscripts then; else the compiler finds them.
bool placesAttention(const Candidate &candidate);

/// Whether attention sends its keys around a ring, along any axis.
bool hasRing(const Candidate &candidate);

/// Whether the parameter's gradient is a sum over ranks of a data axis.
bool isSummedOn(const TensorFacts &parameter, const AxisUse &axis);

/// Gives axes without a name one: "dp", "tp1".
void nameAxes(Candidate &candidate, const ProgramFacts &facts);

/// "dp=2 tp=4: b@dp s@tp, parameters e@tp h@tp, state @dp", for people. Two
/// candidates of one program with the same text are the same.
std::string subscriptText(const Candidate &candidate,
                          const ProgramFacts &facts);
/// The usual name: "ZeRO-1 x TP+SP".
std::string usualName(const Candidate &candidate, const ProgramFacts &facts);
/// "4 micro-batches, 1f1b of 2 chunks, rematerialise full"; empty if the
/// settings save nothing.
std::string settingsText(const Settings &settings);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_CANDIDATE_H
