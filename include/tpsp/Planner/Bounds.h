/// Lower bounds on the seconds and bytes of all candidates under a node of the
/// space, from the index structure alone.
///
/// - Compute: every product, forward and backward, takes the cost model's time
///   for its shape. Each axis divides the shape along the best of the indices
///   that it may divide. Axes not yet chosen divide everything but the launch.
///   An update reads and writes its tensors once. Other kernels and redone
///   products take, over all ranks, at least as long as on one device. For
///   causal attention whose queries are divided, the last rank counts or, if
///   that is less, the mean with an exchange of halves.
/// - Links: on a data axis gradients are reduced, and parameters that are
///   stored divided are gathered. On a model axis sums are completed before
///   operations that are not linear. Keys and values are gathered along a data
///   axis on positions. Each collective runs at the best rate of its links, or
///   of the links along several axes. All commands add up; commands along
///   several axes that may be merged count once. Communication may hide under
///   computation, which it slows (leastSeconds()). Then the commands on one
///   tier of links add up. If communicators share no links, the commands of one
///   axis do.
/// - Memory: parameters, state, and the gradients that remain at the end; at
///   least a device's share of the values that one micro-batch saves for the
///   backward pass; with micro-batches, sums of gradients.
///
/// Only settings that may fit are bounded. If none may fit, `bytes` is the
/// smallest requirement.
///
/// With p stages and m micro-batches:
/// - A stage computes after the first micro-batch has reached it, and before
///   the last micro-batch is on its way back. However work w is divided, some
///   stage ends no sooner than w / (m (1 - (1 - 1/m)^p)). The busiest stage
///   does at least 1/p of all work. The division of equal layers is known:
///   stage i has n_i of them, and ends after m n_i + n_0 + ... + n_(i-1)
///   layers' time of a micro-batch. The last stage also has the operations
///   after the layers: the head. With several chunks per stage, n_0 to n_(i-1)
///   count the first chunks only.
/// - The largest stage needs at least the average memory. If layers are equal,
///   it needs at least the memory of the first stage's layers, with all units
///   that the schedule saves.
#ifndef TPSP_PLANNER_BOUNDS_H
#define TPSP_PLANNER_BOUNDS_H

#include "tpsp/Planner/LinkTimes.h"
#include "tpsp/Planner/Space.h"
#include "tpsp/Planner/StepWork.h"
#include "tpsp/Schedule/ChunkWork.h"
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

/// The shape of a product of the undivided program. Products of one shape are
/// counted together.
ProductShape shapeOf(const ProductFacts &product);

struct Bound {
  double seconds = 0;
  /// Bytes of one rank, with the settings that need least.
  int64_t bytes = 0;
  /// Parts of the step, at least, in seconds without overlap: computing, and
  /// communication along data axes and along model axes.
  double computing = 0, data = 0, model = 0;
  /// Whether some settings suit the axes: stages need at least as many
  /// micro-batches.
  bool isPossible = false;

  /// Least seconds of the step if nothing hides. Among steps with equal bounds,
  /// those with little communication are mostly faster.
  double promise() const { return std::max(seconds, computing + data + model); }
};

/// Settings, and the bytes that a rank needs at least with them. With stages,
/// if the first settings of a rematerialisation do not fit, its other settings
/// are not tried: they need no less.
struct SizedSettings {
  Settings settings;
  int64_t bytes = 0;
  bool mayFit = false;
  Bound bound; ///< if they may fit; without its bytes
};

/// The settings of a candidate that are to be tried.
struct SettingsToTry {
  std::vector<Settings> settings;
  /// The least seconds of the settings that were left out because they are too
  /// slow. Infinite if none were.
  double leftOut = std::numeric_limits<double>::infinity();

  bool isAll() const { return std::isinf(leftOut); }
};

struct BoundOptions {
  int64_t devices = 1;
  bool hasGradients = false;
  /// Whether gradients are results, and stay to the end of the step.
  bool keepsGradients = false;
  /// Whether gradients are summed over micro-batches before ranks. If so, the
  /// sums are of whole parameters.
  bool reducesOnce = false;
  /// Whether attention is done in one call, if it can be.
  bool callsAttention = false;
  /// Whether data axes may send keys around a ring, as in SpaceOptions.
  /// alwaysRings: whether axes of any role do so wherever they can.
  bool mayRing = false, alwaysRings = false;
  /// Whether ranks may exchange halves of queries around calls of attention.
  bool balancesAttention = false;
  /// Whether communication may run under computation.
  bool overlaps = false;
  /// The optimizer's state, over all parameters unsharded.
  int64_t stateBytes = 0;
  /// Whether attention gathers its keys and values whole, instead of tile by
  /// tile.
  bool gathersKeys = false;
  /// Whether parameters that are stored divided are gathered again for the
  /// backward pass.
  bool regathers = false;
  /// Whether they are gathered once for all micro-batches and both passes.
  bool gathersOnce = false;
  SumOptions sums;
  /// The most bytes of several tensors in one collective; -1: any number.
  int64_t largestBucket = -1;
  /// The class of activations that micro-batches cut.
  std::optional<ClassId> microBatchIndex;
  /// The settings to try, and the bytes of a rank's memory; 0: any amount.
  std::vector<Settings> settings = {{}};
  /// The settings to try for candidates with stages.
  std::vector<Settings> stageSettings;
  int64_t memoryLimit = 0;
  /// One yardstick of the program on one device for each rematerialisation.
  /// Without them, kernels take no time and nothing is saved or redone.
  std::vector<Yardstick> yardsticks;
  /// Who has to be able to express the settings.
  Reader reader = {};
};

class Bounds {
public:
  /// Copies its arguments.
  Bounds(ProgramFacts facts, Hardware hardware, BoundOptions options);

  Bound of(const SpaceNode &node) const;
  /// Whether a rank's part of the batch can be cut into so many micro-batches.
  /// There must be at least as many as stages, and a layer for each chunk. The
  /// reader must take the settings.
  bool canCut(const SpaceNode &node, const Settings &settings) const;
  /// The bytes that a rank needs at least with these settings.
  int64_t bytesWith(const SpaceNode &node, const Settings &settings) const;
  /// The settings of `all` into which the node can be cut, and whether they may
  /// fit in `limit` bytes; 0: any amount.
  std::vector<SizedSettings> sized(const SpaceNode &node,
                                   llvm::ArrayRef<Settings> all,
                                   int64_t limit) const;
  /// The settings of `all` that may fit. With stages, they are sorted within
  /// each rematerialisation: settings that are expected to fit come first, the
  /// most promising before the others. With stages, settings that take more
  /// than `longest` seconds are left out. If no settings may fit, returns those
  /// that need least. Empty if all settings that may fit were left out.
  SettingsToTry
  settingsToTry(const Candidate &candidate, llvm::ArrayRef<Settings> all,
                int64_t limit,
                double longest = std::numeric_limits<double>::infinity()) const;

private:
  /// The time of a product forward alone, and with its adjoints.
  struct ProductTime {
    ComputeSeconds forward, all;
  };

  /// The calls of a product in a step, and the time of one call in each way in
  /// which the axes may divide it.
  struct ProductWays {
    double calls = 1;
    llvm::SmallVector<ProductTime, 4> times;
  };

  /// Per dimension of a product, the number of parts into which it is divided.
  using Parts = llvm::SmallVector<int64_t, 8>;
  using ShapeKey = std::pair<const ProductFacts *, Parts>;
  /// The kind, the ranks in all and per node, the nodes, and the largest bytes
  /// of a collective.
  using RateKey = std::tuple<CollectiveKind, int64_t, int64_t, int64_t, double>;
  struct HashKey {
    size_t operator()(const ShapeKey &key) const;
    size_t operator()(const RateKey &key) const;
    size_t operator()(const std::vector<int64_t> &key) const;
  };

  /// Bytes of gradients that are summed over micro-batches. With two
  /// micro-batches, the first one's gradients keep their type. The sums of
  /// more micro-batches, and with stages, have SumOptions::narrowBytes.
  struct Sums {
    double asTheyCome = 0, summed = 0;

    double of(int64_t microBatches, bool hasStages) const {
      bool isSummed = hasStages || microBatches > 2;
      return microBatches == 1 ? 0 : isSummed ? summed : asTheyCome;
    }
    void operator+=(const Sums &other) {
      asTheyCome += other.asTheyCome;
      summed += other.summed;
    }
  };
  /// Bytes of a rank that last, on all stages together: those of all tensors,
  /// and those of the layers' tensors. Sums of gradients are separate. Kernels
  /// add to a part of them; products may add to the others in no time.
  struct Lasting {
    double all = 0, ofLayers = 0;
    Sums sums, sumsOfLayers;
    Sums byKernels, byKernelsOfLayers;
  };
  /// Seconds on all stages together: computing of micro-batches, the update,
  /// and links of data axes and of model axes.
  struct Work {
    ComputeSeconds computing;
    double update = 0;
    DataTime data;
    LinkTime model;
    /// The parts of computing for products of equal layers, and for products
    /// after the layers.
    double ofLayers = 0, behindLayers = 0;

    LinkTime links() const {
      LinkTime all = data.all;
      all += model;
      return all;
    }
  };

  /// Everything that the node's bound depends on.
  static std::vector<int64_t> keyOf(const SpaceNode &node);
  Bound findBound(const SpaceNode &node) const;
  std::vector<Settings> settingsOf(const SpaceNode &node) const;
  double hidingSeconds(const Work &work) const;
  double pipelineSeconds(const Work &work, const Settings &settings,
                         double share, double stages) const;
  Bound boundOf(const Work &work, const SpaceNode &node,
                const Settings &settings) const;
  Lasting lastingBytes(const SpaceNode &node) const;
  bool mayAddInProduct(const TensorFacts &parameter) const;
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
  Work workOf(const SpaceNode &node, const DataLinks &links,
              int64_t microBatches) const;
  static LinkTier tierOf(llvm::ArrayRef<GroupPlace> places);
  /// The tier of a collective that runs along any of these axes.
  static LinkTier commonTier(llvm::ArrayRef<LinkTier> tiers) {
    return llvm::all_equal(tiers) ? tiers.front() : LinkTier::Unknown;
  }
  Bound linksAlone(const SpaceNode &node) const;
  double busiestLink(const LinkTime &time) const;
  double busiestShare(const LinkTime &time) const;
  void addComputing(const SpaceNode &node, size_t yardstick,
                    llvm::ArrayRef<ProductWays> ways,
                    llvm::ArrayRef<ComputeSeconds> attention, Work &work) const;
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
  ProductWays waysOf(const ProductFacts &product, const SpaceNode &node,
                     int64_t microBatches) const;
  /// Finds the ways of each product; attention has none.
  std::vector<ProductWays> waysOfProducts(const SpaceNode &node,
                                          int64_t microBatches) const;
  ComputeSeconds productSeconds(const ProductFacts &product,
                                const ProductWays &ways, const SpaceNode &node,
                                double redone) const;
  /// Finds the seconds of each product that is attention. Micro-batches do not
  /// change them.
  std::vector<ComputeSeconds> secondsOfAttention(const SpaceNode &node,
                                                 size_t yardstick) const;
  ProductTime shapeSeconds(const ProductFacts &product,
                           const Parts &parts) const;
  ComputeSeconds attentionSeconds(const ProductFacts &product,
                                  const SpaceNode &node, double redone) const;
  double exchangeSeconds(const ProductFacts &product, const SpaceNode &node,
                         double redone, double parts) const;
  double memoryRate() const;
  bool dividesQueries(const ProductFacts &product,
                      const CandidateAxis &axis) const;
  ComputeSeconds callSeconds(const ProductFacts &product,
                             const AttentionWork &work, double share,
                             double redone) const;
  ComputeSeconds rowsSeconds(const ProductFacts &product, const SpaceNode &node,
                             int64_t shards, double parts, double redone) const;
  int64_t ringSize(const ProductFacts &product, const SpaceNode &node) const;
  ComputeSeconds ringSeconds(const ProductFacts &product, int64_t ranks,
                             double parts, double redone) const;
  bool mayHop(const SpaceNode &node) const;
  double hopsSeconds(const ProductFacts &product, double parts,
                     double redone) const;
  double updateSeconds(const SpaceNode &node) const;
  ComputeSeconds oneProduct(const MatmulWork &work, int64_t dtype) const;
  DataTime dataTime(const SpaceNode &node, const DataLinks &links,
                    int64_t microBatches) const;
  DataLinks dataLinksOf(const SpaceNode &node) const;
  TensorLinks tensorLinks(const TensorFacts &tensor, const SpaceNode &node,
                          const DataLinks &links) const;
  void addTensor(const TensorFacts &tensor, const TensorLinks &times,
                 int64_t microBatches, DataSums &sums) const;
  void addWhole(const WholeOperand &operand, const SpaceNode &node,
                int64_t microBatches, const DataLinks &links,
                DataSums &sums) const;
  bool isStoredOn(const TensorFacts &tensor, const SpaceNode &node,
                  unsigned axis) const;
  TensorTimes tensorTimes(const TensorFacts &tensor, const SpaceNode &node,
                          const DataAxis &axis) const;
  StoredTime storedTime(const TensorFacts &tensor, const SpaceNode &node,
                        unsigned axes, const DataLinks &links) const;
  void addStoringPlaces(const SpaceNode &node, DataLinks &links) const;
  TensorTime storingTime(const TensorFacts &tensor, const SpaceNode &node,
                         llvm::ArrayRef<GroupPlace> places, double bytes) const;
  static const DataAxis *
  onlyAxis(const DataLinks &links, const SpaceNode &node,
           llvm::function_ref<bool(const AxisUse &)> isSo);
  void addMoving(const WholeOperand &tensor, double seconds,
                 const DataAxis &axis, const DataLinks &links,
                 DataSums &sums) const;
  void addExchange(const WholeOperand &tensor, const SpaceNode &node,
                   int64_t microBatches, const DataLinks &links,
                   DataSums &sums) const;
  void addHops(const WholeOperand &operand, const SpaceNode &node,
               int64_t microBatches, const DataLinks &links,
               DataSums &sums) const;
  double movingSeconds(CollectiveKind kind, const WholeOperand &operand,
                       const SpaceNode &node,
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
  /// Seconds per byte at the best of all sizes up to `largest` bytes, or less.
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
  double bestAttentionRate(const ProductFacts &product,
                           llvm::ArrayRef<bool> passes) const;
  double narrowestBytes(const AxisUse &use) const;

  ProgramFacts facts;
  BoundOptions options;
  /// A cost model for one axis of all devices. Only its rates are used.
  CostModel cost;
  /// decidingSizes() of the machine.
  std::vector<double> sizes;
  mutable std::unordered_map<RateKey, double, HashKey> rates;
  mutable std::unordered_map<ShapeKey, ProductTime, HashKey> shapes;
  /// A cache, because the search asks for some bounds twice.
  mutable std::unordered_map<std::vector<int64_t>, Bound, HashKey> bounds;
  /// By yardstick and product: the share of its forward products that is
  /// redone.
  std::vector<std::vector<double>> redone;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_BOUNDS_H
