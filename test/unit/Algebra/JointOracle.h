/// The least cost of a placement problem (PlacementSearch.h). It tries every
/// joint choice of what all axes drive, of their order on an index, and of
/// where results stay. TransitionOracle prices movements. It is exact and
/// therefore slow, and shares no code with lib/Algebra.
#ifndef TPSP_TEST_UNIT_ALGEBRA_JOINTORACLE_H
#define TPSP_TEST_UNIT_ALGEBRA_JOINTORACLE_H

#include "TransitionOracle.h"

#include "tpsp/Algebra/PlacementSearch.h"

#include "llvm/ADT/Hashing.h"

#include <set>

namespace tpsp::oracle {

/// The objective of PlacementSearch.h, in its order, and the number of all
/// collectives.
struct JointPrice {
  int idle = 0;
  unsigned againstRole = 0, collectives = 0, small = 0;
  double moved = 0;
  double work = 0;
  unsigned earlySums = 0;
  int64_t bytes = 0;
  unsigned moves = 0; ///< includes those of no cost; not compared

  /// Adds a price `times`. A tensor that is gathered in vain counts once.
  void add(const JointPrice &other, int64_t times) {
    idle += other.idle;
    againstRole += other.againstRole * times;
    collectives += other.collectives * times;
    small += other.small * times;
    moved += other.moved * double(times);
    work += other.work * double(times);
    earlySums += other.earlySums * times;
    bytes += other.bytes * times;
    moves += other.moves * times;
  }

  bool operator<(const JointPrice &other) const {
    auto key = [](const JointPrice &price) {
      return std::tie(price.idle, price.againstRole, price.collectives,
                      price.small, price.moved, price.work, price.earlySums,
                      price.bytes);
    };
    return key(*this) < key(other);
  }
};

class JointOracle {
public:
  explicit JointOracle(const PlacementProblem &problem);

  /// Returns the least price; nullopt if nothing is legal, or if more than
  /// `mostStates` states are open at once (then tooMany()).
  std::optional<JointPrice> best(size_t mostStates);
  bool tooMany() const { return overflow; }

private:
  /// A layout in which a value is available.
  struct Version {
    Layout layout;
    bool isMaximum = false;

    bool operator<(const Version &other) const {
      return std::tie(layout, isMaximum) <
             std::tie(other.layout, other.isMaximum);
    }
    bool operator==(const Version &other) const {
      return layout == other.layout && isMaximum == other.isMaximum;
    }
  };
  struct Available {
    std::set<Version> versions;
    /// Axes over which the value was gathered only for operations that do not
    /// need that.
    std::set<unsigned> idle;
    /// Axes that divide the value other than by cutting it where it is whole.
    std::set<unsigned> divided;

    bool operator==(const Available &other) const {
      return versions == other.versions && idle == other.idle &&
             divided == other.divided;
    }
  };
  /// A value, and for one that no operation makes also the micro-batch.
  using Slot = std::pair<unsigned, unsigned>;
  using State = std::map<Slot, Available>;
  struct StateHash {
    size_t operator()(const State &state) const {
      llvm::hash_code hash = llvm::hash_value(state.size());
      for (const auto &[slot, has] : state)
        for (const Version &version : has.versions)
          hash = llvm::hash_combine(hash, slot, LayoutHash()(version.layout),
                                    version.isMaximum);
      return hash;
    }
  };
  using Reached = std::unordered_map<State, JointPrice, StateHash>;

  /// What an axis drives: an index, or one of these. A pending sum that passes
  /// through one of several factors is sumOf - the operand's number.
  static constexpr int nothing = -1, maximum = -2, sums = -3, sumOf = -4;
  using Drives = std::vector<int>;

  /// A way to do an operation, with the placements of its operands and results.
  struct Form {
    Drives drives;
    std::vector<Version> operands, results;
    double work = 1;
    double touched = 0; ///< bytes of activations, read and written
  };

  const PlacementProblem::Value &value(unsigned number) const {
    return problem.values[number];
  }
  const Version &wanted(unsigned number) const { return *wishes[number]; }
  bool isUnit(unsigned axis) const { return sizes[axis] == 1; }
  void spreadAxes();
  Available madeIn(const Version &home) const;
  void noteDivided(const Version &needs, Available &has) const;
  unsigned meetingGathered(size_t at, const Form &form, State &state) const;
  std::vector<Drives> drivesOf(size_t at) const;
  std::vector<Form> formsOf(size_t at) const;
  std::optional<Form> formOf(size_t at, const Drives &drives,
                             const std::vector<unsigned> &order) const;
  Slot slotOf(unsigned number, unsigned part) const;

  void follow(size_t at, const Form &form, State state, const JointPrice &paid,
              Reached &next);
  bool bringOperands(size_t at, const Form &form, State &state,
                     JointPrice &price);
  bool bring(size_t at, unsigned operand, const Form &form, Available &has,
             JointPrice &price);
  std::vector<std::vector<unsigned>> addedFirst(size_t at, const Form &form,
                                                State &state);
  void leave(size_t at, const Form &form, State state, JointPrice price,
             unsigned result, Reached &next);
  bool mayDepart(unsigned number, unsigned axis) const;
  std::optional<Version> stayed(unsigned number, const Version &comesOut,
                                unsigned kept) const;
  bool pay(size_t at, unsigned number, const Version &from, const Version &to,
           JointPrice &price);
  const Version *nearest(unsigned number, const Available &has,
                         const Version &to);

  const PlacementProblem &problem;
  Sizes sizes;
  std::vector<std::optional<Version>> wishes;
  std::vector<TransitionOracle> movements; ///< per value
  /// Per operation and axis, the indices that the axis may drive.
  std::vector<std::vector<std::set<unsigned>>> open;
  std::vector<bool> isMade;        ///< per value
  std::map<Slot, size_t> lastUses; ///< by operations
  JointPrice before;               ///< paid before this operation
  bool overflow = false;
};

} // namespace tpsp::oracle

#endif // TPSP_TEST_UNIT_ALGEBRA_JOINTORACLE_H
