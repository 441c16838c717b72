/// The candidates for a program on a number of devices, as a tree. A node has
/// the outer axes of a mesh, its children have one more. A node without
/// remaining devices is a leaf, a candidate.
///
/// The space has, for every ordered factorisation of the devices into at most
/// `maxAxes` axes, every use of each axis:
/// - on a data axis: a class of activations; besides nothing, or the stored
///   parameters, or the optimizer's state;
/// - on a model axis: a largest set of parameter classes of which no parameter
///   has two; besides nothing, or a class of activations;
/// - at most one axis divides the layers: a stage axis. There are at least as
///   many layers.
///
/// Two axes of one use are one axis. Axes that lie in one node have one order,
/// because its links are alike, and so have axes that lead from node to node
/// alone. A model axis divides no parameters along an
/// index that attention needs whole. An axis divides the extents of its
/// classes. All else that makes a candidate illegal the compiler says.
#ifndef TPSP_PLANNER_SPACE_H
#define TPSP_PLANNER_SPACE_H

#include "tpsp/Planner/Candidate.h"

#include <functional>

namespace tpsp::planner {

/// "b@dp" or "e@tp=4": an axis of this name (and size) divides the index, of
/// activations or of parameters.
struct Pin {
  ClassId index = 0;
  std::string axis;
  /// 0: any.
  int64_t size = 0;
};

struct SpaceOptions {
  int64_t devices = 1;
  /// Within which links are alike; 0: all of them.
  int64_t devicesPerNode = 0;
  unsigned maxAxes = 3;
  std::vector<Pin> pins;
  /// Whether there is an optimizer, whose state may be divided.
  bool hasState = false;
  /// Of a stage axis; 1: there is none; 0: any size, or none.
  int64_t stages = 0;
};

/// The axes so far, and how many devices the axes within them have together.
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
  /// The children of a node that is no leaf, in a fixed order, but for those
  /// that no longer leave an axis for a pin. Counts in `symmetric` those that
  /// are another node's.
  std::vector<SpaceNode> children(const SpaceNode &node,
                                  int64_t &symmetric) const;
  /// Whether the node is a leaf, and has the axes that the program writes.
  bool isDone(const SpaceNode &node) const;
  /// Whether a leaf has what the pins ask for. Names its axes as they do.
  bool satisfiesPins(Candidate &candidate) const;
  /// Leaves that satisfy the pins, with names, but no more than `most`. All
  /// are for few devices.
  std::vector<Candidate> leaves(size_t most = SIZE_MAX) const;
  /// One axis of all devices, for each use, also where an extent is not
  /// divided: what people ask about first.
  std::vector<Candidate> pure() const;

  /// Whether the candidate's axes together divide every class that they are on.
  bool divides(const Candidate &candidate) const;

  const ProgramFacts &program() const { return facts; }

private:
  std::vector<AxisUse> usesOf(int64_t size, bool onlyDivisible) const;
  std::vector<std::vector<ClassId>> parameterSets(int64_t size,
                                                  bool onlyDivisible) const;
  bool isAnothers(const SpaceNode &node, const AxisUse &use,
                  int64_t within) const;
  bool mayHaveStages(int64_t size) const;
  bool maySatisfyPins(const SpaceNode &node) const;
  /// Those that the program writes, and one more, in any case.
  size_t mostAxes() const;
  void addChildren(const SpaceNode &node, CandidateAxis axis,
                   std::vector<SpaceNode> &out, int64_t &symmetric) const;
  std::string checkPins() const;
  std::string checkStages() const;

  ProgramFacts facts;
  SpaceOptions options;
};

/// "b@dp", "e@tp=4" against the program's names; a sentence if it is none.
std::string parsePin(const std::string &text, const ProgramFacts &facts,
                     Pin &pin);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_SPACE_H
