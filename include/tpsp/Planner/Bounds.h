/// What no candidate under a node of the space can beat: seconds and bytes,
/// from the index structure alone.
///
/// - Compute: every product, forward and backward, takes what the cost model
///   says of its shape, divided along one of the indices that each axis may
///   divide: the one that is best. Axes not yet chosen divide all but the
///   launch. An update reads and writes its tensors once. Other kernels do
///   together at least what they do on one device, and so do products that are
///   redone. Of causal attention whose queries are divided the last rank
///   counts or, if that is less, the mean with an exchange of halves.
/// - Links: on a data axis gradients are reduced, and parameters that are
///   stored divided are gathered. On a model axis what is not linear is made of
///   completed sums. Keys and values are gathered along a data axis on
///   positions. Each is at its links' best rate, or at that of links along
///   several axes. All commands add up, and those along several axes that may
///   be one count once. Communication may hide under computation, which it
///   slows (leastSeconds()): then what one tier of links has adds up, or, where
///   communicators share no links, what one axis has.
/// - Memory: parameters and, by what remains at the end, gradients and state;
///   what backward keeps of forward, at least a device's share of it and of a
///   micro-batch; with micro-batches sums of gradients.
///
/// Of the settings those count that may fit. Where none may, the least memory
/// says so.
///
/// With p stages and m micro-batches:
/// - A stage computes behind the first micro-batch's way to it, and before the
///   last one's way back. However work w is divided, one stage ends no sooner
///   than w / (m (1 - (1 - 1/m)^p)). Nor is what all do less than p times what
///   the busiest does. How layers that are alike are divided is known: stage i
///   has n_i of them, and ends behind m n_i + n_0 + ... + n_(i-1) of a
///   micro-batch. The last has what is behind layers, too: the head.
///   With several chunks a stage, n_0 to n_(i-1) are of the first chunks.
/// - The largest stage needs the average. Where layers are alike, it needs what
///   the first one's layers need, with all units that its schedule saves.
#ifndef TPSP_PLANNER_BOUNDS_H
#define TPSP_PLANNER_BOUNDS_H

#include "tpsp/Planner/Space.h"
#include "tpsp/Planner/StepWork.h"
#include "tpsp/Schedule/CostModel.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace tpsp::planner {

/// Of a product of the undivided program: what counts as one shape.
ProductShape shapeOf(const ProductFacts &product);

struct Bound {
  double seconds = 0;
  /// Of one rank: of the settings that need least.
  int64_t bytes = 0;
  /// What they are at least made of: computing, and communication along data
  /// axes and along model axes, one command after another.
  double computing = 0, data = 0, model = 0;
  /// Whether some settings go with the axes: stages take as many micro-batches.
  bool isPossible = false;

  /// What the step takes at least if nothing hides. Of steps whose bounds are
  /// alike, the one with little communication is mostly faster.
  double promise() const { return std::max(seconds, computing + data + model); }
};

/// Settings, and what a rank needs at least with them. With stages, where the
/// first of a rematerialisation do not fit, the others are not tried, and need
/// no less.
struct SizedSettings {
  Settings settings;
  int64_t bytes = 0;
  bool mayFit = false;
  Bound bound; ///< of those that may fit, but for its bytes
};

/// What is to be tried of a candidate.
struct SettingsToTry {
  std::vector<Settings> settings;
  /// Of what would be slower than asked for, and is left out: seconds that the
  /// fastest takes at least. Infinite if nothing is.
  double leftOut = std::numeric_limits<double>::infinity();

  bool isAll() const { return std::isinf(leftOut); }
};

struct BoundOptions {
  int64_t devices = 1;
  bool hasGradients = false;
  /// Whether gradients are results, and stay to the end of the step.
  bool keepsGradients = false;
  /// Whether micro-batches' gradients are summed before ranks' are: then the
  /// sums are of whole parameters.
  bool reducesOnce = false;
  /// Whether attention is done in one call, where it can be.
  bool callsAttention = false;
  /// Whether ranks may exchange halves of queries around calls of attention.
  bool balancesAttention = false;
  /// Whether communication may run under computation.
  bool overlaps = false;
  /// The optimizer's state, over all parameters unsharded.
  int64_t stateBytes = 0;
  /// Whether attention gathers its keys and values, and not tile by tile.
  bool gathersKeys = false;
  /// Whether what is stored divided is gathered once for the forward pass and
  /// once for the backward pass.
  bool regathers = false;
  /// What several tensors may have together to go in one collective, in bytes;
  /// -1: any number.
  int64_t largestBucket = -1;
  /// What micro-batches cut, of activations.
  std::optional<ClassId> microBatchIndex;
  /// What is tried, and what a rank has; 0: any amount.
  std::vector<Settings> settings = {{}};
  /// Likewise of candidates with stages.
  std::vector<Settings> stageSettings;
  int64_t memoryLimit = 0;
  /// Of the program on one device, one for each rematerialisation. Without,
  /// kernels take no time and nothing is kept or redone.
  std::vector<Yardstick> yardsticks;
};

class Bounds {
public:
  /// Copies what it needs.
  Bounds(ProgramFacts facts, Hardware hardware, BoundOptions options);

  Bound of(const SpaceNode &node) const;
  /// Whether the axes leave a rank so many micro-batches, there are as many as
  /// stages, and a layer for each of their chunks.
  bool canCut(const SpaceNode &node, const Settings &settings) const;
  /// What a rank needs at least with these settings.
  int64_t bytesWith(const SpaceNode &node, const Settings &settings) const;
  /// Those of `all` that the node can be cut into, and whether they may fit in
  /// `limit` bytes; 0: any amount.
  std::vector<SizedSettings> sized(const SpaceNode &node,
                                   llvm::ArrayRef<Settings> all,
                                   int64_t limit) const;
  /// Those of `all` that may fit. With stages, of each rematerialisation those
  /// that are expected to fit come first, and of these those that promise most.
  /// Those that take more than `longest` seconds are left out; without stages
  /// none. If nothing may fit, what needs least. Empty if all that may fit is
  /// left out.
  SettingsToTry
  settingsToTry(const Candidate &candidate, llvm::ArrayRef<Settings> all,
                int64_t limit,
                double longest = std::numeric_limits<double>::infinity()) const;

private:
  /// Of a product forward alone, and of it with its adjoints.
  struct ProductTime {
    ComputeSeconds forward, all;
  };

  /// By dimension of a product, into how many parts it is divided.
  using Parts = llvm::SmallVector<int64_t, 8>;
  using ShapeKey = std::pair<const ProductFacts *, Parts>;
  /// Of what kind, by how many ranks in all and a node, on how many nodes, and
  /// up to how many bytes.
  using RateKey = std::tuple<CollectiveKind, int64_t, int64_t, int64_t, double>;
  struct HashKey {
    size_t operator()(const ShapeKey &key) const;
    size_t operator()(const RateKey &key) const;
    size_t operator()(const std::vector<int64_t> &key) const;
  };

  /// Bytes of gradients that are summed over micro-batches. Of two, the first
  /// one's are as they come; more, and stages', are summed in f32.
  struct Sums {
    double asTheyCome = 0, inF32 = 0;

    double of(int64_t microBatches, bool hasStages) const {
      bool isInF32 = hasStages || microBatches > 2;
      return microBatches == 1 ? 0 : isInF32 ? inF32 : asTheyCome;
    }
    void operator+=(const Sums &other) {
      asTheyCome += other.asTheyCome;
      inF32 += other.inF32;
    }
  };
  /// Bytes of a rank that last, on all stages together: of all tensors, and of
  /// layers'. Sums of gradients are apart.
  struct Lasting {
    double all = 0, ofLayers = 0;
    Sums sums, sumsOfLayers;
  };
  /// Where all of some collectives are sure to lie: one in a node is on other
  /// links than one that leads to other nodes.
  enum class LinkTier { Inside, Between, Unknown };
  /// Seconds of collectives.
  struct LinkTime {
    /// One after another; of these, what layers have that are alike.
    double serial = 0, ofLayers = 0;
    /// Of `serial`, what is sure to be in a node, and between nodes.
    double inside = 0, between = 0;
    /// Of the axis that has most. Where communicators have nothing in common,
    /// it is what a step takes.
    double ofAxis = 0;

    void add(double seconds, LinkTier tier) {
      inside += tier == LinkTier::Inside ? seconds : 0;
      between += tier == LinkTier::Between ? seconds : 0;
    }
    void addSerial(double seconds, double inLayers) {
      serial += seconds;
      ofLayers += inLayers;
    }
    void operator+=(const LinkTime &other) {
      serial += other.serial;
      ofLayers += other.ofLayers;
      inside += other.inside;
      between += other.between;
      ofAxis = std::max(ofAxis, other.ofAxis);
    }
  };
  struct DataTime {
    LinkTime all;
    /// Of these, of gradients and of the update: see TensorTime.
    LinkTime atEnd;
  };
  /// Of one tensor: gathers to use it, the scattering of its gradient, and what
  /// completes the gradient or the new parameter. Each is a command of its own.
  struct TensorTime {
    double gathering = 0, scattering = 0, completing = 0;

    double seconds() const { return gathering + atEnd(); }
    /// Of stages, once a step and behind the last micro-batch.
    double atEnd() const { return scattering + completing; }
    /// Of several axes: one collective may go along all of them.
    void raiseTo(const TensorTime &other) {
      gathering = std::max(gathering, other.gathering);
      scattering = std::max(scattering, other.scattering);
      completing = std::max(completing, other.completing);
    }
  };
  /// Of a collective along an axis and others, by position.
  struct SharedPlace {
    GroupPlace place;
    llvm::SmallVector<unsigned, 2> others;
  };
  /// A data axis: where collectives along it may lie that reduce, that divide
  /// or gather parameters, and that gather activations.
  struct DataAxis {
    unsigned position = 0;
    std::vector<GroupPlace> reducing, dividing;
    std::vector<SharedPlace> gathering;
    LinkTier tier = LinkTier::Unknown;
    double seconds = 0, atEnd = 0;
  };
  struct DataLinks {
    std::vector<DataAxis> axes;
    /// How many of them store parameters.
    size_t storing = 0;
    /// Of what several axes store, and of that along one dimension of each.
    double stored = 0, storedTogether = 0;
    DataTime time;
  };
  struct ModelAxis {
    unsigned position = 0;
    std::vector<SharedPlace> places;
    LinkTier tier = LinkTier::Unknown;
    /// Of a gradient, as narrowestBytes() says.
    double narrowest = 0;
  };
  /// Seconds on all stages together: of micro-batches, of the update, and of
  /// links, on data axes and on model axes.
  struct Work {
    ComputeSeconds computing;
    double update = 0;
    DataTime data;
    LinkTime model;
    /// Of computing, products of layers that are alike, and those behind them.
    double ofLayers = 0, behindLayers = 0;

    LinkTime links() const {
      LinkTime all = data.all;
      all += model;
      return all;
    }
  };

  /// All that its bound depends on.
  static std::vector<int64_t> keyOf(const SpaceNode &node);
  Bound findBound(const SpaceNode &node) const;
  std::vector<Settings> settingsOf(const SpaceNode &node) const;
  double hidingSeconds(const Work &work) const;
  double pipelineSeconds(const Work &work, double share, double stages) const;
  Bound boundOf(const Work &work, const SpaceNode &node,
                const Settings &settings) const;
  Lasting lastingBytes(const SpaceNode &node) const;
  Sums sumsOf(const TensorFacts &tensor, const SpaceNode &node,
              double local) const;
  int64_t bytesWith(const Lasting &lasting, const SpaceNode &node,
                    const Settings &settings) const;
  void sortByPromise(std::vector<SizedSettings> &settings,
                     const Candidate &candidate, llvm::ArrayRef<Settings> all,
                     int64_t limit) const;
  double firstStageBytes(const Lasting &lasting, const SpaceNode &node,
                         const Settings &settings, double unit) const;
  double unitBytes(const SpaceNode &node, const Settings &settings,
                   double layers) const;
  double leastUnitBytes(const SpaceNode &node, const Settings &settings) const;
  double layersOfFirst(const SpaceNode &node) const;
  double expectedBytes(const Lasting &lasting, const SpaceNode &node,
                       const Settings &settings) const;
  const Yardstick *yardstickOf(const Settings &settings) const;
  void findRedone();
  double redoneShare(const ProductFacts &product, const Yardstick &yardstick,
                     const Yardstick &plain) const;
  Work workOf(const SpaceNode &node, int64_t microBatches) const;
  static LinkTier tierOf(llvm::ArrayRef<GroupPlace> places);
  /// Of a collective along any of so many axes.
  static LinkTier commonTier(llvm::ArrayRef<LinkTier> tiers) {
    return llvm::all_equal(tiers) ? tiers.front() : LinkTier::Unknown;
  }
  Bound linksAlone(const SpaceNode &node) const;
  double busiestLink(const LinkTime &time) const;
  double busiestShare(const LinkTime &time) const;
  void addComputing(const SpaceNode &node, size_t yardstick,
                    int64_t microBatches, Work &work) const;
  void addSums(const SpaceNode &node, const Lasting &lasting,
               int64_t microBatches, Work &work) const;
  void addBounds(const SpaceNode &node, const Lasting &lasting,
                 std::vector<SizedSettings> &settings) const;
  double longestStage(const Work &work, int64_t stages,
                      const Settings &settings, double inParts,
                      double atEnd) const;
  bool hasChunks(const SpaceNode &node, int64_t perStage) const;
  double countInLayers(int64_t count) const;
  double kernelShare(int64_t stages) const;
  ComputeSeconds productSeconds(const ProductFacts &product,
                                const SpaceNode &node, double redone,
                                int64_t parts) const;
  ProductTime shapeSeconds(const ProductFacts &product,
                           const Parts &parts) const;
  ComputeSeconds attentionSeconds(const ProductFacts &product,
                                  const SpaceNode &node, double redone) const;
  double exchangeSeconds(const ProductFacts &product, const SpaceNode &node,
                         double redone, double parts) const;
  double memoryRate() const;
  bool dividesMask(const ProductFacts &product,
                   const CandidateAxis &axis) const;
  ComputeSeconds callSeconds(const ProductFacts &product, double share,
                             double redone) const;
  double updateSeconds(const SpaceNode &node) const;
  ComputeSeconds oneProduct(const MatmulWork &work, int64_t dtype) const;
  DataTime dataTime(const SpaceNode &node, int64_t microBatches) const;
  DataLinks dataLinksOf(const SpaceNode &node) const;
  void addTensor(const TensorFacts &tensor, const SpaceNode &node,
                 int64_t microBatches, DataLinks &links) const;
  void addWhole(const WholeOperand &operand, const SpaceNode &node,
                int64_t microBatches, DataLinks &links) const;
  bool isStoredOn(const TensorFacts &tensor, const SpaceNode &node,
                  unsigned axis) const;
  TensorTime tensorTime(const TensorFacts &tensor, const SpaceNode &node,
                        const DataAxis &axis, int64_t microBatches) const;
  TensorTime storedTime(const TensorFacts &tensor, const SpaceNode &node,
                        llvm::ArrayRef<const DataAxis *> storing,
                        int64_t microBatches) const;
  TensorTime storingTime(const TensorFacts &tensor, const SpaceNode &node,
                         llvm::ArrayRef<GroupPlace> places, double bytes,
                         int64_t microBatches) const;
  double gatherSeconds(const WholeOperand &operand, const SpaceNode &node,
                       llvm::ArrayRef<SharedPlace> places,
                       llvm::ArrayRef<unsigned> along,
                       int64_t microBatches) const;
  LinkTime modelTime(const SpaceNode &node, int64_t microBatches) const;
  std::vector<ModelAxis> modelAxesOf(const SpaceNode &node) const;
  double completionSeconds(const Completion &completion, const SpaceNode &node,
                           const ModelAxis &axis, int64_t microBatches) const;
  double completionBytes(const Completion &completion, const SpaceNode &node,
                         unsigned axis) const;
  double localBytes(const TensorFacts &tensor, const SpaceNode &node) const;
  std::vector<SharedPlace>
  sharedPlaces(const SpaceNode &node, unsigned axis,
               llvm::function_ref<bool(const AxisUse &)> goesWith) const;
  std::vector<GroupPlace>
  placesOf(const SpaceNode &node, unsigned axis,
           llvm::function_ref<bool(const AxisUse &)> goesWith) const;
  /// At the best of all sizes up to `largest`.
  double secondsPerByte(CollectiveKind kind, GroupPlace place,
                        double largest) const;
  double collectiveSeconds(CollectiveKind kind,
                           llvm::ArrayRef<GroupPlace> places, double bytes,
                           double largest) const;
  double activationSeconds(CollectiveKind kind,
                           llvm::ArrayRef<SharedPlace> places,
                           const SpaceNode &node, llvm::ArrayRef<ClassId> dims,
                           double bytes, double largest) const;
  double largestWith(double bytes) const;
  double largestOf(double bytes, llvm::ArrayRef<ClassId> dims,
                   int64_t microBatches) const;
  double bestRate() const;
  double bestAttentionRate(const ProductFacts &product) const;
  double narrowestBytes(const AxisUse &use) const;

  ProgramFacts facts;
  BoundOptions options;
  /// On a mesh of one axis that has all devices; only rates are asked of it.
  CostModel cost;
  mutable std::unordered_map<RateKey, double, HashKey> rates;
  mutable std::unordered_map<ShapeKey, ProductTime, HashKey> shapes;
  /// The search asks for some twice.
  mutable std::unordered_map<std::vector<int64_t>, Bound, HashKey> bounds;
  /// By yardstick and product: how much of its forward products is redone.
  std::vector<std::vector<double>> redone;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_BOUNDS_H
