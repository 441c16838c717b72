/// The candidates for a program on a number of devices, as a tree. A node has
/// the outer axes of a mesh, and its children have one more axis. A node
/// without remaining devices is a leaf: a candidate.
///
/// The space has, for every ordered factorisation of the devices into at most
/// `maxAxes` axes, every use of each axis:
/// - a data axis divides a class of activations; it may also divide the stored
///   parameters, or the optimizer's state. If it divides positions, it may
///   divide heads in their place within attention (Ulysses), or send keys
///   around a ring;
/// - a model axis divides a maximal set of parameter classes of which no
///   parameter has two; it may also divide a class of activations;
/// - at most one axis, a stage axis, divides the layers. There are at least as
///   many layers as stages.
///
/// Two axes of one use are merged into one axis. Axes inside one node have a
/// fixed order, because the node's links are alike. So have axes that only lead
/// from node to node. A model axis divides no parameters along an index that
/// attention needs whole. An axis divides the extents of its classes. The
/// compiler reports every other reason why a candidate is illegal.
///
/// For a reader with a target, the space has the candidates that the target can
/// express. Then a model axis may also divide experts and nothing else.
#ifndef TPSP_PLANNER_SPACE_H
#define TPSP_PLANNER_SPACE_H

#include "tpsp/Planner/Target.h"

#include <functional>

namespace tpsp::planner {

/// "b@dp" or "e@tp=4": an axis of this name (and size) divides the index of
/// activations, of parameters, or within attention.
struct Pin {
  ClassId index = 0;
  std::string axis;
  /// 0: any.
  int64_t size = 0;
};

struct SpaceOptions {
  int64_t devices = 1;
  /// The devices of a node, between which links are alike; 0: all devices.
  int64_t devicesPerNode = 0;
  unsigned maxAxes = 3;
  std::vector<Pin> pins;
  /// Whether there is an optimizer, whose state may be divided.
  bool hasState = false;
  /// The size of the stage axis; 1: no stage axis; 0: any size, or none.
  int64_t stages = 0;
  /// Whether data axes on positions may gather attention's keys, and whether
  /// they may send them around a ring. Keys that cannot go around are gathered.
  bool mayGather = true, mayRing = false;
  /// Who has to be able to express the candidates.
  Reader reader = {};
};

/// The axes so far, and the number of devices for the inner axes.
struct SpaceNode {
  Candidate candidate;
  int64_t remaining = 1;

  bool isLeaf() const { return remaining == 1; }
};

class Space {
public:
  /// Copies the facts. Call check() first.
  Space(ProgramFacts facts, SpaceOptions options);

  /// Why there is no candidate that the options allow: a sentence, or empty.
  std::string check() const;

  SpaceNode root() const;
  /// The children of an inner node, in a fixed order. Children that no longer
  /// leave an axis for a pin are left out. Adds to `symmetric` the number of
  /// children that equal another node's.
  std::vector<SpaceNode> children(const SpaceNode &node,
                                  int64_t &symmetric) const;
  /// Whether the node is a leaf, and has the axes of the program's own mesh.
  bool isDone(const SpaceNode &node) const;
  /// Whether a leaf satisfies the pins, and the reader takes it. Names its axes
  /// as the pins do.
  bool satisfiesPins(Candidate &candidate) const;
  /// Leaves that satisfy the pins, with names, at most `most` of them. Only for
  /// few devices can one ask for all.
  std::vector<Candidate> leaves(size_t most = SIZE_MAX) const;
  /// The candidates with one axis of all devices, one for each use, even if it
  /// does not divide an extent. People ask about these first.
  std::vector<Candidate> pure() const;

  /// Whether the candidate's axes together divide the extent of every class
  /// that they are on.
  bool divides(const Candidate &candidate) const;

  const ProgramFacts &program() const { return facts; }

private:
  std::vector<AxisUse> usesOf(int64_t size, bool onlyDivisible) const;
  std::vector<std::vector<ClassId>> parameterSets(int64_t size,
                                                  bool onlyDivisible) const;
  void addExpertsAlone(const std::vector<ClassId> &classes,
                       std::vector<std::vector<ClassId>> &sets) const;
  /// The uses of a data axis on these activations that stores nothing. Keys are
  /// gathered or go around a ring, or heads are divided within attention.
  std::vector<AxisUse> dataUses(ClassId activations, int64_t size,
                                bool onlyDivisible) const;
  bool isAnothers(const SpaceNode &node, const AxisUse &use,
                  int64_t within) const;
  /// Whether an axis on these activations may send keys around a ring.
  bool mayRing(ClassId activations, int64_t size) const;
  bool mayHaveStages(int64_t size) const;
  bool maySatisfyPins(const SpaceNode &node) const;
  /// The most axes, but at least one more than the program's own mesh has.
  size_t mostAxes() const;
  void addChildren(const SpaceNode &node, CandidateAxis axis,
                   std::vector<SpaceNode> &out, int64_t &symmetric) const;
  std::string checkPins() const;
  std::string checkStages() const;
  std::string noneIsTaken() const;

  ProgramFacts facts;
  SpaceOptions options;
};

/// Parses "b@dp" or "e@tp=4" with the program's names. Returns a sentence if
/// the text is not a pin, else "".
std::string parsePin(const std::string &text, const ProgramFacts &facts,
                     Pin &pin);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_SPACE_H
