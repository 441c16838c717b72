#include "tpsp/Planning/Planning.h"

#include "BatchCut.h"
#include "ProfiledEvaluator.h"
#include "RequestChecks.h"

#include "tpsp/Abi/Quantity.h"
#include "tpsp/Planner/Compare.h"
#include "tpsp/Planning/StagePlans.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>
#include <optional>

using namespace mlir;
using namespace tpsp;
using namespace tpsp::planner;

const Evaluation *Planning::best() const {
  return result.best(matrix.options.memoryLimit);
}

/// `layers`: how many the program has, if some of them may be rematerialised;
/// else 0.
static std::vector<std::string> modesOf(const CompileOptions &compile,
                                        GivenSettings given, int64_t layers) {
  constexpr int64_t steps = 8; // an eighth of the layers, a quarter, ..
  if (given.rematerialize || !compile.grad)
    return {Rematerialisation{
        compile.rematerialize,
        compile.rematerialize == "full" ? compile.rematerializeLayers : 0}
                .text()};
  std::vector<std::string> modes = {"none", "selective"};
  for (int64_t step = 1; step < steps && layers >= steps; ++step)
    modes.push_back(Rematerialisation{"full", layers * step / steps}.text());
  modes.emplace_back("full");
  return modes;
}

static constexpr int64_t mostMicroBatches = 512;

/// The divisors of a number that are at most `most`, ascending.
static std::vector<int64_t> divisors(int64_t number, int64_t most) {
  std::vector<int64_t> found;
  for (int64_t each = 1; each <= std::min(number, most); ++each)
    if (number % each == 0)
      found.push_back(each);
  return found;
}

std::vector<Settings> tpsp::memorySettings(const CompileOptions &compile,
                                           GivenSettings given, int64_t batch,
                                           int64_t layers) {
  std::vector<int64_t> parts = divisors(batch, mostMicroBatches);
  if (given.microBatches)
    parts = {compile.microBatches};
  std::vector<Settings> result;
  for (const std::string &mode : modesOf(compile, given, layers))
    for (int64_t each : parts)
      result.push_back({each, mode});
  return result;
}

/// The numbers of chunks that Bounds::canCut() may accept for some number of
/// stages.
static std::vector<int64_t> chunksOf(int64_t layers, int64_t asked) {
  constexpr int64_t mostChunks = 16;
  if (asked > 0)
    return {asked};
  std::vector<int64_t> result = {1};
  for (int64_t each = 2; each <= std::min(mostChunks, layers / 2); ++each)
    if (layers % each == 0 || llvm::isPowerOf2_64(uint64_t(each)))
      result.push_back(each);
  return result;
}

std::vector<Settings> tpsp::stageSettings(const CompileOptions &compile,
                                          GivenSettings given, int64_t batch,
                                          int64_t layers,
                                          const StageChoice &stages) {
  std::vector<int64_t> parts = divisors(batch, mostMicroBatches);
  parts.erase(parts.begin()); // one micro-batch keeps no two stages busy
  std::reverse(parts.begin(), parts.end());
  if (given.microBatches)
    parts = {compile.microBatches};
  std::vector<Settings> result;
  if (stages.stages == 1)
    return result;
  for (const std::string &mode : modesOf(compile, given, /*layers=*/0))
    for (int64_t chunks : chunksOf(layers, stages.chunks))
      for (int64_t each : parts)
        result.push_back({each, mode, stages.schedule, chunks});
  return result;
}

static int64_t devicesOf(const Hardware &hardware) {
  return hardware.devicesPerNode * hardware.nodes;
}

llvm::Expected<std::string> tpsp::clusterOf(StringRef name, int64_t devices) {
  llvm::Expected<Hardware> own = findHardware(name);
  if (!own)
    return own.takeError();
  if (own->isCpu() || devicesOf(*own) >= devices)
    return name.str();
  auto [base, algorithm] = name.split(':');
  std::string cluster = base.str() + "-cluster";
  if (llvm::is_contained(builtinHardware(), cluster)) {
    if (!algorithm.empty())
      cluster += ":" + algorithm.str();
    llvm::Expected<Hardware> larger = findHardware(cluster);
    if (!larger)
      return larger.takeError();
    if (devicesOf(*larger) >= devices)
      return cluster;
    own = std::move(larger);
  }
  return llvm::createStringError(
      llvm::formatv("{0} has {1} devices, not {2}; --devices takes at most "
                    "that, or --hardware a description with more nodes",
                    own->name, devicesOf(*own), devices)
          .str());
}

namespace {

/// The time for finding a way out if no plan was found, in seconds. It is
/// unlimited if the search's time is.
class MoreTime {
public:
  explicit MoreTime(const SearchOptions &search) : given(search.secondsLimit) {}

  /// The limit; 0: no limit.
  double all() const {
    constexpr double least = 5;
    return given > 0 ? std::max(given, least) : 0;
  }

  /// The seconds that are left of all(), 0 for no limit; nullopt if time is up.
  std::optional<double> left() const {
    std::chrono::duration<double> gone =
        std::chrono::steady_clock::now() - begin;
    if (given > 0 && gone.count() >= all())
      return std::nullopt;
    return given > 0 ? all() - gone.count() : 0;
  }

private:
  const double given;
  const std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};

/// Executes a request step by step.
class Planner {
public:
  Planner(MLIRContext &context, PlanningRequest request)
      : context(context), request(std::move(request)) {}

  llvm::Expected<std::unique_ptr<Planning>>
  run(const SearchProgress &progress) {
    auto planning = std::make_unique<Planning>();
    if (llvm::Error error = readAll(planning->facts))
      return error;
    planning->evaluator = request.evaluator;
    const ProgramFacts &facts = planning->facts;
    llvm::Expected<SpaceOptions> options = spaceOptions(facts);
    if (!options)
      return options.takeError();
    Space space(facts, *options);
    if (std::string problem = space.check(); !problem.empty())
      return llvm::createStringError(problem);
    request.search.memoryLimit = memoryLimit();
    // With other options, a schedule may be slower than the serial step, or
    // need any amount of memory.
    request.search.overlaps =
        compile().overlap == "on" && compile().overlapChunks < 2;
    // No schedule takes more than the device has.
    bool isDevice = memoryLimit() >= deviceMemory();
    request.search.overlapMemory = isDevice ? 0 : compile().overlapMemory;
    auto cut = findBatch(context, request.evaluator, request.given, facts);
    if (!cut)
      return cut.takeError();
    batch = *cut;
    int64_t extent = batch ? facts.classes[*batch].extent : 1;
    request.search.settings =
        memorySettings(compile(), request.given, extent,
                       facts.areLayersAlike ? facts.layers : 0);
    request.search.stageSettings = stageSettings(
        compile(), request.given, extent, facts.layers, request.stages);
    if (llvm::Error error = checkStages(request, facts))
      return error;
    if (llvm::Error error = keepTaken(request, facts))
      return error;
    llvm::Expected<UndividedProgram> undivided =
        undividedProgram(request.evaluator, request.search.settings);
    if (!undivided)
      return undivided.takeError();
    dropUseless(*undivided);
    BoundOptions bounding =
        boundsFor(*undivided, request.devices, request.search);
    Bounds bounds(facts, hardware, bounding);
    bounding.overlaps = false;
    Bounds serialBounds(facts, hardware, bounding);
    request.search.serialBounds = &serialBounds;
    for (const std::string &name : request.named)
      request.search.named.push_back(candidatesNamed(name, space, bounds));
    std::vector<Candidate> pure;
    if (!request.search.onlyNamed)
      pure = space.pure();
    planning->result =
        search(space, bounds, evaluators(request.evaluator, facts), pure,
               request.search, progress);
    bool mayLookOn = !request.search.onlyNamed;
    if (!planning->result.best(memoryLimit()) &&
        planning->result.state.gap > 0 && mayLookOn)
      takeAny(facts, *options, *undivided, planning->result);
    planning->matrix = makeMatrix(planning->result, pure, facts,
                                  matrixOptions(facts, *options));
    if (!planning->best() && mayLookOn)
      planning->wouldFit = fittingCluster(facts, *options, *undivided);
    return planning;
  }

private:
  const CompileOptions &compile() const { return request.evaluator.compile; }

  llvm::Error readAll(ProgramFacts &facts) {
    StringRef name = compile().hardware.name();
    llvm::Expected<Hardware> machine = findHardware(name);
    if (!machine)
      return machine.takeError();
    if (request.devices == 0)
      request.devices = machine->isCpu() ? 2 : machine->devicesPerNode;
    llvm::Expected<std::string> cluster = clusterOf(name, request.devices);
    if (!cluster)
      return cluster.takeError();
    request.evaluator.compile.hardware = *cluster;
    machine = findHardware(*cluster);
    if (!machine)
      return machine.takeError();
    hardware = std::move(*machine);
    auto program = PlannedProgram::read(context, request.evaluator.path,
                                        request.evaluator.readOptions());
    if (!program)
      return program.takeError();
    facts = (*program)->facts();
    return checkFree(request, facts);
  }

  llvm::Expected<SpaceOptions> spaceOptions(const ProgramFacts &facts) const {
    SpaceOptions options;
    options.devices = request.devices;
    options.devicesPerNode = hardware.isCpu() ? 0 : hardware.devicesPerNode;
    options.maxAxes = request.maxAxes;
    options.hasState = compile().optimizer != "none";
    options.stages = request.stages.stages;
    options.reader = request.reader;
    options.mayRing = mayRing();
    options.mayGather = compile().attention != "ring";
    CompileOptions ofStages = compile();
    setForStages(ofStages);
    if (std::string problem = stagesUnplanned(ofStages); !problem.empty()) {
      if (options.stages > 1)
        return llvm::createStringError(problem);
      options.stages = 1;
    }
    for (const std::string &text : request.pins)
      if (std::string problem =
              parsePin(text, facts, options.pins.emplace_back());
          !problem.empty())
        return llvm::createStringError(problem);
    return options;
  }

  /// Whether plans may send attention's keys around a ring.
  bool mayRing() const {
    bool isChosen = request.automatic.count("attention") > 0;
    return compile().attention == "ring" ||
           (isChosen && compile().keepsCalls());
  }

  EvaluatorFactory evaluators(const CandidateEvaluatorOptions &options,
                              const ProgramFacts &facts) const {
    EvaluatorFactory own = candidateEvaluators(options);
    if (!request.profile)
      return own;
    return profiledEvaluators(std::move(own), request.profile, facts,
                              request.reader.names,
                              compile().optimizer != "none");
  }

  /// Drops rematerialisations that save no more than an earlier one. For
  /// example, with a library's attention there are no scores to redo.
  void dropUseless(const UndividedProgram &undivided) {
    if (request.given.rematerialize)
      return;
    const std::vector<Yardstick> &all = undivided.yardsticks;
    auto isUseless = [&](const Settings &settings) {
      auto own = llvm::find_if(all, [&](const Yardstick &each) {
        return each.rematerialize == settings.rematerialize;
      });
      return std::any_of(all.begin(), own, [&](const Yardstick &before) {
        return before.savedBytes <= own->savedBytes;
      });
    };
    llvm::erase_if(request.search.settings, isUseless);
    llvm::erase_if(request.search.stageSettings, isUseless);
  }

  BoundOptions boundsFor(const UndividedProgram &undivided, int64_t devices,
                         const SearchOptions &search) const {
    BoundOptions options = boundOptions(compile(), undivided, devices, search);
    options.microBatchIndex = batch;
    options.mayRing = mayRing();
    options.reader = request.reader;
    return options;
  }

  /// The memory of a device in bytes. On a CPU every rank has a part of the
  /// machine's memory.
  int64_t deviceMemory() const {
    return hardware.memoryBytes / (hardware.isCpu() ? request.devices : 1);
  }
  int64_t memoryLimit() const {
    return request.memoryLimit > 0 ? request.memoryLimit : deviceMemory();
  }

  /// Looks for any plan that fits on `devices` devices of the machine, without
  /// overlap.
  SearchResult anyOn(int64_t devices, const ProgramFacts &facts,
                     SpaceOptions inSpace, const UndividedProgram &undivided,
                     const std::string &machine, double seconds) {
    inSpace.devices = devices;
    Space space(facts, inSpace);
    if (!space.check().empty())
      return {};
    SearchOptions serial = request.search;
    serial.overlaps = false;
    serial.finalists = 0;
    serial.rows = 0;
    serial.endsWithAny = true;
    serial.named.clear();
    serial.secondsLimit = seconds;
    CandidateEvaluatorOptions evaluator = request.evaluator;
    evaluator.compile.overlap = "off";
    evaluator.compile.hardware = machine;
    Bounds bounds(facts, llvm::cantFail(findHardware(machine)),
                  boundsFor(undivided, devices, serial));
    return search(space, bounds, evaluators(evaluator, facts), /*notable=*/{},
                  serial, [](const SearchState &) {});
  }

  /// If time ran out before a plan was found, searches for any plan that fits.
  void takeAny(const ProgramFacts &facts, const SpaceOptions &inSpace,
               const UndividedProgram &undivided, SearchResult &result) {
    SearchResult more =
        anyOn(request.devices, facts, inSpace, undivided,
              compile().hardware.name(), MoreTime(request.search).all());
    result.state.evaluations += more.state.evaluations;
    result.state.seconds += more.state.seconds;
    const Evaluation *any = more.best(memoryLimit());
    if (!any)
      return;
    result.evaluations.insert(result.evaluations.begin(), *any);
    result.evaluations.front().isSerial = request.search.overlaps;
  }

  /// "; 16 devices would do: FSDP 16, which needs 60.0 GiB". Doubles the number
  /// of devices until a plan fits, the machine has no more, or time is up. If
  /// none fits, says how many devices were tried. Empty on a CPU, where more
  /// ranks have no more memory.
  std::string fittingCluster(const ProgramFacts &facts,
                             const SpaceOptions &inSpace,
                             const UndividedProgram &undivided) {
    if (hardware.isCpu())
      return "";
    MoreTime time(request.search);
    std::string none;
    for (int64_t devices = 2 * request.devices; devices <= 16384;
         devices *= 2) {
      llvm::Expected<std::string> cluster =
          clusterOf(compile().hardware.name(), devices);
      if (!cluster) {
        llvm::consumeError(cluster.takeError());
        return none;
      }
      std::optional<double> left = time.left();
      if (!left)
        return none;
      SearchResult result =
          anyOn(devices, facts, inSpace, undivided, *cluster, *left);
      if (const Evaluation *found = result.best(memoryLimit()))
        return llvm::formatv("; {0} devices would do: {1}, which needs {2}",
                             devices, nameOf(found->candidate, facts),
                             rt::bytesText(double(found->memory.total)))
            .str();
      none = llvm::formatv("; no plan that fits was found on up to {0} devices",
                           devices)
                 .str();
    }
    return none;
  }

  /// "FSDP 8 (4 micro-batches)".
  static std::string nameOf(const Candidate &candidate,
                            const ProgramFacts &facts) {
    std::string settings = settingsText(candidate.settings);
    return usualName(candidate, facts) +
           (settings.empty() ? "" : " (" + settings + ")");
  }

  MatrixOptions matrixOptions(const ProgramFacts &facts,
                              const SpaceOptions &inSpace) const {
    MatrixOptions options;
    options.space = {
        inSpace.maxAxes, request.search.settings, {}, request.pins};
    if (request.reader.target)
      options.space.target = request.reader.target->title;
    if (inSpace.stages != 1 && facts.layers > 1 && request.devices > 1)
      llvm::copy_if(request.search.stageSettings,
                    std::back_inserter(options.space.stageSettings),
                    [](const Settings &each) { return each.microBatches > 1; });
    options.program = facts.program;
    if (compile().keepsCalls())
      options.keptScores = facts.keptScores;
    options.hardware = hardware.name;
    options.devices = request.devices;
    options.memoryLimit = memoryLimit();
    options.sharesMemory = hardware.isCpu();
    options.modelFlops = facts.modelFlops(compile().grad);
    options.tokens = facts.tokens;
    options.rows = request.rows;
    options.profile = request.profile ? request.profile->name : "";
    options.hasProfiledMemory =
        request.profile && request.profile->describesMemory();
    if (!facts.products.empty())
      options.peakFlops =
          matmulPeak(hardware, facts.products.front().dtype, request.devices);
    return options;
  }

  MLIRContext &context;
  PlanningRequest request;
  Hardware hardware;
  /// The index that micro-batches cut.
  std::optional<ClassId> batch;
};

} // namespace

BoundOptions tpsp::boundOptions(const CompileOptions &compile,
                                const UndividedProgram &undivided,
                                int64_t devices, const SearchOptions &search) {
  BoundOptions options;
  options.devices = devices;
  options.hasGradients = compile.grad;
  options.keepsGradients = compile.grad && compile.optimizer == "none";
  options.reducesOnce = compile.reduceGradients == "step";
  options.callsAttention = compile.keepsCalls();
  options.mayRing = options.alwaysRings = compile.attention == "ring";
  options.balancesAttention = compile.balanceAttention != "off";
  options.gathersKeys = compile.attention != "blocks";
  options.regathers = compile.grad && !compile.keepGathered;
  options.gathersOnce = compile.gatherWeights == "step";
  options.sums = sumOptionsOf(compile);
  options.largestBucket =
      compile.bucketLayers == "off" ? compile.bucketBytes : -1;
  options.overlaps = compile.overlap != "off";
  options.stateBytes = undivided.stateBytes;
  options.yardsticks = undivided.yardsticks;
  options.settings = search.settings;
  options.stageSettings = search.stageSettings;
  options.memoryLimit = search.memoryLimit;
  return options;
}

llvm::Expected<std::unique_ptr<Planning>>
tpsp::planProgram(MLIRContext &context, const PlanningRequest &request,
                  const SearchProgress &progress) {
  return Planner(context, request).run(progress);
}
